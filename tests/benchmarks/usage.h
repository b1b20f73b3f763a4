// SPDX-License-Identifier: Apache-2.0
// What this process has used, and how busy the machine was with others meanwhile.
#ifndef MILLHOPPER_TESTS_BENCHMARKS_USAGE_H_
#define MILLHOPPER_TESTS_BENCHMARKS_USAGE_H_

#include <cstdint>

namespace millhopper {

// Everything since some beginning; differences are what counts. All threads of the process.
struct Usage {
  double wall_seconds = 0;
  double cpu_seconds = 0;   // of this process, and of those that it ran
  double busy_seconds = 0;  // of all processors together, whoever used them

  static Usage Now();
  Usage operator-(const Usage& before) const;
  Usage& operator+=(const Usage& more);
  // The part of all processors' time that others used: 0.05 is five percent.
  double foreign_share() const;
};

// What should not grow in the steady state. Counting allocates nothing itself.
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
// What the calling thread has worked: others on its processor do not count.
double ThreadSeconds();

// The largest size in memory since the last ResetPeak, in bytes.
uint64_t PeakBytes();
void ResetPeak();
// Gives back to the system what the pools of earlier work keep.
void DropIdleMemory();

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_BENCHMARKS_USAGE_H_
