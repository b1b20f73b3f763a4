// SPDX-License-Identifier: Apache-2.0
// Counts the allocations of a process. Linking allocation_counter.cc replaces the malloc of the C
// library, also for operator new; a call costs one more addition.
#ifndef MILLHOPPER_TESTS_BENCHMARKS_ALLOCATION_COUNTER_H_
#define MILLHOPPER_TESTS_BENCHMARKS_ALLOCATION_COUNTER_H_

#include <cstdint>

namespace millhopper {

// Calls of malloc, calloc, realloc and their aligned variants so far, on all threads; 0 with a
// sanitizer.
uint64_t AllocationCount();

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_BENCHMARKS_ALLOCATION_COUNTER_H_
