// SPDX-License-Identifier: Apache-2.0
// What this process has used, and how busy other processes kept the machine meanwhile.
#ifndef MILLHOPPER_TESTS_BENCHMARKS_USAGE_H_
#define MILLHOPPER_TESTS_BENCHMARKS_USAGE_H_

#include <atomic>
#include <cstdint>
#include <thread>

namespace millhopper {

// Totals since an arbitrary moment, over all threads of the process. Only differences mean
// something.
struct Usage {
  double wall_seconds = 0;
  double cpu_seconds = 0;   // of this process, and of those that it ran
  double busy_seconds = 0;  // of all processors together, by any process

  static Usage Now();
  Usage operator-(const Usage& before) const;
  Usage& operator+=(const Usage& more);
  // The share of all processors' time that other processes used: 0.05 is five percent.
  double foreign_share() const;
};

// Counts that should not grow in the steady state. Counting allocates nothing itself.
struct SteadyCounts {
  uint64_t allocations = 0;  // calls to the heap
  uint64_t page_faults = 0;  // that needed no disk

  static SteadyCounts Now();
  SteadyCounts operator-(const SteadyCounts& before) const {
    return {allocations - before.allocations, page_faults - before.page_faults};
  }
  SteadyCounts& operator+=(const SteadyCounts& more) {
    allocations += more.allocations;
    page_faults += more.page_faults;
    return *this;
  }
};

// Monotonic.
double WallSeconds();
// Keeps the calling thread busy until a moment of WallSeconds.
void WorkUntil(double until);
// Processor time of the calling thread, without that of other threads on its processor.
double ThreadSeconds();

// The peak of the resident memory since the last ResetPeak, in bytes.
uint64_t PeakBytes();
void ResetPeak();
// The resident memory that is no page of a file (RssAnon), looked at a hundred times a second by
// its own thread, since the kernel keeps no peak of it. What a process that maps files takes
// besides their pages: these are the page cache's, and leave as soon as memory is needed.
class OwnMemoryWatch {
 public:
  OwnMemoryWatch();
  ~OwnMemoryWatch();
  OwnMemoryWatch(const OwnMemoryWatch&) = delete;
  OwnMemoryWatch& operator=(const OwnMemoryWatch&) = delete;

  // The most that it has seen so far, in bytes.
  uint64_t peak() const { return peak_; }

 private:
  std::atomic<uint64_t> peak_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// The pages of files, the program's among them, that are mapped and resident, in bytes.
uint64_t MappedBytes();
// Gives the memory that pools keep from earlier work back to the system.
void DropIdleMemory();

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_BENCHMARKS_USAGE_H_
