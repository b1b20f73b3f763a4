// SPDX-License-Identifier: Apache-2.0
// Fuzzes TFRecord files: as streams, plain and compressed, and with an index before the file.
#include <algorithm>
#include <memory>
#include <string>

#include "tests/fuzz/target.h"

namespace millhopper {
namespace {

constexpr size_t kMostRecords = 10000;

FileContent ReadTFRecord(const FileEntry& file, size_t most_bytes) {
  FormatArguments arguments;
  arguments.has_companions = !file.companion.empty();
  const std::unique_ptr<FileFormat> format = FindFileFormat("tfrecord")->Make(arguments);
  return ReadThrough(format.get(), file, kMostRecords, most_bytes);
}

}  // namespace
}  // namespace millhopper

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto* file = new millhopper::InputFile;
  static auto* index = new millhopper::InputFile;
  file->Write(data, size);
  // A chunk is a block, or one record that is no longer than what deflate can expand to; a stream
  // doubles its buffer.
  const size_t most_bytes = 4 * ((size_t{1} << 20) + 1100 * size);
  const millhopper::FileContent content = millhopper::ReadTFRecord({file->path(), ""}, most_bytes);
  const millhopper::FileContent again = millhopper::ReadTFRecord({file->path(), ""}, most_bytes);
  CHECK(content.records == again.records);
  CHECK(content.loaded == again.loaded);
  CHECK_EQ(content.loaded.size(), content.records.size());
  CHECK_EQ(content.errors, again.errors);
  // The same input as the size of an index, the index, and its file.
  if (size == 0) return 0;
  const size_t index_size = std::min<size_t>(data[0], size - 1);
  index->Write(data + 1, index_size);
  file->Write(data + 1 + index_size, size - 1 - index_size);
  const millhopper::FileContent indexed =
      millhopper::ReadTFRecord({file->path(), index->path()}, most_bytes);
  CHECK_EQ(indexed.loaded.size(), indexed.records.size());
  return 0;
}
