// SPDX-License-Identifier: Apache-2.0
// Files for tests, written byte by byte and independently of the code that reads them.
#ifndef MILLHOPPER_TESTS_FILES_RECORD_FILES_H_
#define MILLHOPPER_TESTS_FILES_RECORD_FILES_H_

#include <string>
#include <vector>

#include "framework/tensor/tensor.h"

namespace millhopper {

// A record of serialised tensors.
std::string RecordOf(const std::vector<LoDTensor>& tensors);
// An uncompressed chunk of a RecordIO file in the fluid dialect.
std::string ChunkOf(const std::vector<std::string>& records);
// A new, empty folder for the running test.
std::string NewFolder(const std::string& name);

// Writes `shards` RecordIO files <folder>/numbers-<k>.recordio of `records` records each, two a
// chunk. Record i of shard k is a float32 [1, 2] of (n, -n) and an int64 [1, 1] of n, with
// n = 100 k + i.
void WriteNumbers(const std::string& folder, int shards, int records);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FILES_RECORD_FILES_H_
