// SPDX-License-Identifier: Apache-2.0
// Counts what a process asks the heap for. Linking allocation_counter.cc puts a malloc in front of
// the C library's, which operator new calls too; a call costs one more addition.
#ifndef MILLHOPPER_TESTS_BENCHMARKS_ALLOCATION_COUNTER_H_
#define MILLHOPPER_TESTS_BENCHMARKS_ALLOCATION_COUNTER_H_

#include <cstdint>

namespace millhopper {

// Calls of malloc, calloc, realloc and their aligned kin so far, on all threads; 0 with a
// sanitizer.
uint64_t AllocationCount();

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_BENCHMARKS_ALLOCATION_COUNTER_H_
