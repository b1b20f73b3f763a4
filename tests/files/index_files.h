// SPDX-License-Identifier: Apache-2.0
// Indexes of files for tests.
#ifndef MILLHOPPER_TESTS_FILES_INDEX_FILES_H_
#define MILLHOPPER_TESTS_FILES_INDEX_FILES_H_

#include <gtest/gtest.h>
#include <xxhash.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "framework/reader/file_format.h"
#include "readers/index/chunk_index.h"
#include "readers/index/indexable_format.h"
#include "tests/testing.h"

namespace millhopper {

// The bytes of the index of a file, as `recordio index` writes them.
inline std::string IndexOf(const std::string& tag, const std::string& path,
                           const std::vector<std::string>& fields = {}) {
  std::atomic<uint64_t> bytes{0};
  FormatArguments arguments;
  if (!fields.empty()) arguments.attributes.Set("fields", fields);
  if (tag == "recordio") arguments.attributes.Set("content", std::string("bytes"));
  const std::unique_ptr<FileFormat> format = FindFileFormat(tag)->Make(arguments);
  const ChunkIndex index =
      dynamic_cast<IndexableFormat&>(*format).MakeIndex({path, "", BufferType::kMemory}, &bytes);
  return index.ToBytes();
}

// Writes it where readers look for it.
inline void WriteIndex(const std::string& tag, const std::string& path,
                       const std::vector<std::string>& fields = {}) {
  WriteFile(IndexPathOf(path), IndexOf(tag, path, fields));
}

inline std::string ChecksumOf(const std::string& bytes) {
  const uint64_t checksum = XXH3_64bits(bytes.data(), bytes.size());
  return std::string(reinterpret_cast<const char*>(&checksum), sizeof(checksum));
}

// The index with checksums that are right for what it says, if it is long enough to have any.
inline std::string WithRightIndexChecksums(const std::string& index) {
  constexpr size_t kFixed = 56;
  if (index.size() < kFixed + 8) return index;
  uint32_t rules = 0;
  std::memcpy(&rules, index.data() + 12, sizeof(rules));
  if (rules > index.size() - kFixed - 8) return index;
  const std::string table = index.substr(kFixed + rules + 8);
  const std::string head =
      index.substr(0, kFixed - 8) + ChecksumOf(table) + index.substr(kFixed, rules);
  return head + ChecksumOf(head) + table;
}

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FILES_INDEX_FILES_H_
