// SPDX-License-Identifier: Apache-2.0
// TFRecord files for tests, written by their own code.
#ifndef MILLHOPPER_TESTS_FILES_TFRECORDS_H_
#define MILLHOPPER_TESTS_FILES_TFRECORDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "readers/support/checksums.h"

namespace millhopper {

inline std::string TFRecordHeader(uint64_t length) {
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof(length));
  const uint32_t checksum = MaskedCrc32c(bytes.data(), bytes.size());
  return bytes.append(reinterpret_cast<const char*>(&checksum), sizeof(checksum));
}

inline std::string TFRecords(const std::vector<std::string>& records) {
  std::string file;
  for (const std::string& record : records) {
    const uint32_t checksum = MaskedCrc32c(record.data(), record.size());
    file += TFRecordHeader(record.size()) + record;
    file.append(reinterpret_cast<const char*>(&checksum), sizeof(checksum));
  }
  return file;
}

// The index that tfrecord2idx makes of such a file, without the last line's end.
inline std::string TFRecordIndex(const std::vector<std::string>& records) {
  std::string index;
  uint64_t offset = 0;
  for (const std::string& record : records) {
    const uint64_t size = record.size() + 16;
    if (!index.empty()) index += "\n";
    index += std::to_string(offset) + " " + std::to_string(size);
    offset += size;
  }
  return index;
}

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FILES_TFRECORDS_H_
