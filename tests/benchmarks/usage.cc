// SPDX-License-Identifier: Apache-2.0
#include "tests/benchmarks/usage.h"

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <string>

#include "framework/memory/memory.h"
#include "tests/benchmarks/allocation_counter.h"

namespace millhopper {
namespace {

double ClockSeconds(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// The first line of /proc/stat: "cpu", then ticks of user, nice, system, idle, iowait, irq,
// softirq, steal. Time that the hypervisor steals counts as used by others.
double BusySeconds() {
  std::ifstream stat("/proc/stat");
  std::string name;
  stat >> name;
  double busy = 0;
  for (int field = 0; field < 8; ++field) {
    double ticks = 0;
    stat >> ticks;
    if (field != 3 && field != 4) busy += ticks;
  }
  return busy / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double ChildrenSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// A line of /proc/self/status that counts kibibytes.
uint64_t StatusBytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != name) continue;
    uint64_t kibibytes = 0;
    status >> kibibytes;
    return kibibytes * 1024;
  }
  return 0;
}

}  // namespace

double WallSeconds() { return ClockSeconds(CLOCK_MONOTONIC); }
void WorkUntil(double until) {
  while (WallSeconds() < until) continue;
}
double ThreadSeconds() { return ClockSeconds(CLOCK_THREAD_CPUTIME_ID); }

Usage Usage::Now() {
  Usage now;
  now.busy_seconds = BusySeconds();
  now.cpu_seconds = ClockSeconds(CLOCK_PROCESS_CPUTIME_ID) + ChildrenSeconds();
  now.wall_seconds = WallSeconds();
  return now;
}

Usage Usage::operator-(const Usage& before) const {
  Usage difference;
  difference.wall_seconds = wall_seconds - before.wall_seconds;
  difference.cpu_seconds = cpu_seconds - before.cpu_seconds;
  difference.busy_seconds = busy_seconds - before.busy_seconds;
  return difference;
}

Usage& Usage::operator+=(const Usage& more) {
  wall_seconds += more.wall_seconds;
  cpu_seconds += more.cpu_seconds;
  busy_seconds += more.busy_seconds;
  return *this;
}

double Usage::foreign_share() const {
  const double processors = static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
  if (wall_seconds <= 0) return 0;
  return std::max(0.0, (busy_seconds - cpu_seconds) / (wall_seconds * processors));
}

uint64_t PeakBytes() { return StatusBytes("VmHWM:"); }
uint64_t MappedBytes() { return StatusBytes("RssFile:"); }

OwnMemoryWatch::OwnMemoryWatch()
    : thread_([this] {
        while (!stop_) {
          peak_ = std::max<uint64_t>(peak_, StatusBytes("RssAnon:"));
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
      }) {}

OwnMemoryWatch::~OwnMemoryWatch() {
  stop_ = true;
  thread_.join();
}

SteadyCounts SteadyCounts::Now() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return {AllocationCount(), static_cast<uint64_t>(usage.ru_minflt)};
}

void ResetPeak() { std::ofstream("/proc/self/clear_refs") << "5" << std::flush; }

void DropIdleMemory() {
  constexpr size_t kIdleLimit = size_t{1} << 30;
  BufferPool& pool = BufferPool::At(Place());
  pool.set_idle_limit(0);
  pool.set_idle_limit(kIdleLimit);
  malloc_trim(0);
}

}  // namespace millhopper
