// SPDX-License-Identifier: Apache-2.0
// Counts the bytes that our code copies. libcopy_counter.so, preloaded, puts itself in front of
// memcpy and memmove and counts the bytes of calls from the program itself (libraries have their
// own affairs). What is copied in registers, such as numbers and fixed small structures, is not
// seen, nor what the system copies into a chunk when a file is read. It slows copies down, so
// counting is done in a process of its own, never while anything is timed.
#ifndef MILLHOPPER_TESTS_BENCHMARKS_COPIED_BYTES_H_
#define MILLHOPPER_TESTS_BENCHMARKS_COPIED_BYTES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "tests/benchmarks/workload.h"

namespace millhopper {

// In a process with the library: by all threads. Throws kInternal without it.
uint64_t BytesCopiedSoFar();

// Runs the `copy` of a workload in a process of its own, with the data of this one. Nothing if that
// did not work.
std::optional<CopiedBytes> CountCopies(const std::string& workload);
// What that process does: prints the numbers.
void PrintCopies(const Workload& workload);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_BENCHMARKS_COPIED_BYTES_H_
