// SPDX-License-Identifier: Apache-2.0
#include "tests/benchmarks/machine.h"

#include <atomic>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "tests/benchmarks/usage.h"
#include "tests/benchmarks/workload.h"

namespace millhopper {
namespace {

// Far larger than any cache.
constexpr size_t kCopiedBytes = size_t{256} << 20;

// Bytes per second that `threads` threads copy together, each in its own memory.
double CopyRate(std::vector<std::pair<std::vector<char>, std::vector<char>>>* pairs,
                size_t threads) {
  const auto copy = [&](size_t i) {
    auto& [from, to] = (*pairs)[i];
    std::memcpy(to.data(), from.data(), from.size());
  };
  const double begin = WallSeconds();
  std::vector<std::thread> others;
  for (size_t i = 1; i < threads; ++i) others.emplace_back(copy, i);
  copy(0);
  for (std::thread& other : others) other.join();
  return static_cast<double>(threads * kCopiedBytes) / (WallSeconds() - begin);
}

Measured MeasureMemoryCopy() {
  Measured measured;
  const auto threads = static_cast<size_t>(Options().threads());
  std::vector<std::pair<std::vector<char>, std::vector<char>>> pairs(threads);
  for (auto& [from, to] : pairs) {
    from.assign(kCopiedBytes, 1);
    to.assign(kCopiedBytes, 2);
  }
  std::vector<double> one_thread;
  const Usage before = Usage::Now();
  const double end = WallSeconds() + Options().min_seconds;
  for (int round = 0; round < Options().rounds || WallSeconds() < end; ++round) {
    one_thread.push_back(CopyRate(&pairs, 1));
    measured.rates.push_back(CopyRate(&pairs, threads) / one_thread.back());
    measured.limits.push_back(static_cast<double>(threads));
  }
  measured.foreign_share = (Usage::Now() - before).foreign_share();
  measured.counters = {{"bytes_per_second_of_one_thread", Median(one_thread)}};
  return measured;
}

}  // namespace

double RoundTripSeconds() {
  constexpr int kTrips = 20000;
  constexpr int kTimed = kTrips / 2;
  if (std::thread::hardware_concurrency() < 2) return 0;
  std::atomic<int> turn{0};
  std::thread other([&] {
    for (int i = 1; i <= kTrips; ++i) {
      while (turn.load(std::memory_order_acquire) != 2 * i - 1) {
      }
      turn.store(2 * i, std::memory_order_release);
    }
  });
  double begin = 0;
  for (int i = 1; i <= kTrips; ++i) {
    turn.store(2 * i - 1, std::memory_order_release);
    while (turn.load(std::memory_order_acquire) != 2 * i) {
    }
    if (i == kTrips - kTimed) begin = WallSeconds();  // the other thread has started
  }
  const double spent = WallSeconds() - begin;
  other.join();
  return spent / kTimed;
}

void AddMachineWorkloads(Workloads* workloads) {
  Workload copy;
  copy.name = "memory_copy";
  copy.unit = Unit::kFactor;
  copy.measure = MeasureMemoryCopy;
  workloads->push_back(std::move(copy));
}

}  // namespace millhopper
