// SPDX-License-Identifier: Apache-2.0
// Folders of MDS shards for tests, written by their own code.
#ifndef MILLHOPPER_TESTS_FILES_MDS_SHARDS_H_
#define MILLHOPPER_TESTS_FILES_MDS_SHARDS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "tests/files/mxnet_records.h"

namespace millhopper {

// A column: its name, its encoding, and the bytes of each value or 0.
struct MdsTestColumn {
  std::string name, encoding;
  uint32_t size;
};
using MdsTestColumns = std::vector<MdsTestColumn>;

// A sample of these bytes in each column.
inline std::string MdsSample(const MdsTestColumns& columns,
                             const std::vector<std::string>& values) {
  std::string sizes, bytes;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].size == 0) sizes += LittleEndian(static_cast<uint32_t>(values[i].size()));
    bytes += values[i];
  }
  return sizes + bytes;
}

inline std::string MdsShardOf(const std::vector<std::string>& samples) {
  const std::string config = R"({"format": "mds"})";
  std::string file = LittleEndian(static_cast<uint32_t>(samples.size())), all;
  auto end = static_cast<uint32_t>(4 * (samples.size() + 2) + config.size());
  file += LittleEndian(end);
  for (const std::string& sample : samples) {
    all += sample;
    end += static_cast<uint32_t>(sample.size());
    file += LittleEndian(end);
  }
  return file + config + all;
}

// The entry of a shard in an index. zip_bytes is 0 if it is not compressed.
inline std::string MdsEntry(const MdsTestColumns& columns, const std::string& name,
                            uint64_t raw_bytes, uint64_t samples,
                            const std::string& compression = "", uint64_t zip_bytes = 0) {
  std::string names, encodings, sizes;
  for (const MdsTestColumn& column : columns) {
    const std::string comma = names.empty() ? "" : ", ";
    names += StrCat(comma, "\"", column.name, "\"");
    encodings += StrCat(comma, "\"", column.encoding, "\"");
    sizes += comma + (column.size == 0 ? "null" : std::to_string(column.size));
  }
  const std::string zip = StrCat(R"({"basename": ")", name, ".", compression, R"(", "bytes": )",
                                 zip_bytes, R"(, "hashes": {}})");
  return StrCat(R"({"column_encodings": [)", encodings, R"(], "column_names": [)", names,
                R"(], "column_sizes": [)", sizes, R"(], "compression": )",
                zip_bytes == 0 ? "null" : "\"" + compression + ":3\"",
                R"(, "format": "mds", "hashes": [], "raw_data": {"basename": ")", name,
                R"(", "bytes": )", raw_bytes, R"(, "hashes": {}}, "samples": )", samples,
                R"(, "size_limit": 67108864, "version": 2, "zip_data": )",
                zip_bytes == 0 ? "null" : zip, "}");
}

inline std::string MdsIndexOf(const std::vector<std::string>& entries) {
  std::string text = R"({"shards": [)";
  for (const std::string& entry : entries) text += (&entry == &entries[0] ? "" : ", ") + entry;
  return text + R"(], "version": 2})";
}

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FILES_MDS_SHARDS_H_
