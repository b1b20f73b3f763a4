// SPDX-License-Identifier: Apache-2.0
// Fuzzes the index of a file: the first byte says how long the index is, and the file follows it.
// Read with the index, the file gives the records that it gives without, or an error. The same
// holds with right checksums, so that the table is parsed.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/io/file.h"
#include "readers/index/chunk_index.h"
#include "tests/files/index_files.h"
#include "tests/fuzz/target.h"

namespace millhopper {
namespace {

constexpr size_t kMostRecords = 10000;

void Read(const std::string& rules, FileFormat* format, const std::string& path,
          const std::string& index, size_t most_bytes) {
  static auto* index_file = new InputFile;
  index_file->Write(reinterpret_cast<const uint8_t*>(index.data()), index.size());
  Outcome([&] {
    const auto file = File::Open(path);
    const std::optional<ChunkIndex> read = ReadIndex(*File::Open(index_file->path()), *file, rules);
    if (!read) return;
    uint64_t bytes = 0;
    for (const IndexedChunk& chunk : read->chunks) bytes += chunk.length;
    CHECK_EQ(bytes, file->size());
    CHECK(read->ToBytes() == index);
  });
  const FileContent without = ReadThrough(format, {path, ""}, kMostRecords, most_bytes);
  const FileContent with =
      ReadThrough(format, {path, index_file->path()}, kMostRecords, most_bytes);
  if (!with.errors.empty() || !IsChunkIndex(index_file->path())) return;
  CHECK(with.records == without.records);
}

}  // namespace
}  // namespace millhopper

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static auto* file = new millhopper::InputFile;
  const size_t index_size = std::min<size_t>(data[0], size - 1);
  const std::string index(reinterpret_cast<const char*>(data + 1), index_size);
  file->Write(data + 1 + index_size, size - 1 - index_size);
  const size_t most_bytes = 4 * ((size_t{1} << 20) + size);
  const auto read = [&](const char* tag, const std::string& rules,
                        const std::vector<std::string>& fields) {
    millhopper::FormatArguments arguments;
    if (!fields.empty()) arguments.attributes.Set("fields", fields);
    const auto format = millhopper::FindFileFormat(tag)->Make(arguments);
    millhopper::Read(rules, format.get(), file->path(), index, most_bytes);
    millhopper::Read(rules, format.get(), file->path(), millhopper::WithRightIndexChecksums(index),
                     most_bytes);
  };
  for (const char* tag : {"text", "mxnet", "tfrecord"}) read(tag, tag, {});
  read("csv", "table, delimiter 44, quote 34, comment 0, no header", {"#1 bytes"});
  return 0;
}
