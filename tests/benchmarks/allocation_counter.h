// SPDX-License-Identifier: Apache-2.0
// Counts what a process asks the heap for. Linking allocation_counter.cc puts a malloc in front of
// the C library's, which operator new calls too; a call costs one more addition.
#ifndef MILLRACE_TESTS_BENCHMARKS_ALLOCATION_COUNTER_H_
#define MILLRACE_TESTS_BENCHMARKS_ALLOCATION_COUNTER_H_

#include <cstdint>

namespace millrace {

// Calls of malloc, calloc, realloc and their aligned kin so far, on all threads; 0 with a
// sanitizer.
uint64_t AllocationCount();

}  // namespace millrace

#endif  // MILLRACE_TESTS_BENCHMARKS_ALLOCATION_COUNTER_H_
