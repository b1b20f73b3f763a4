// SPDX-License-Identifier: Apache-2.0
// Counts the bytes that our code copies. libcopy_counter.so, preloaded, replaces memcpy and memmove
// and counts the bytes of calls from the program itself, not those from libraries. It does not see
// what is copied in registers, such as numbers and small structures of fixed size, nor what the
// system copies into a chunk when a file is read. It slows copies down, so a separate process
// counts, never while anything is timed.
#ifndef MILLHOPPER_TESTS_BENCHMARKS_COPIED_BYTES_H_
#define MILLHOPPER_TESTS_BENCHMARKS_COPIED_BYTES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "tests/benchmarks/workload.h"

namespace millhopper {

// The bytes that all threads have copied so far. Throws kInternal if the library is not preloaded.
uint64_t BytesCopiedSoFar();

// Runs the `copy` of a workload in a separate process, on the data of this process. Empty if that
// fails.
std::optional<CopiedBytes> CountCopies(const std::string& workload);
// Runs in that process and prints the numbers.
void PrintCopies(const Workload& workload);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_BENCHMARKS_COPIED_BYTES_H_
