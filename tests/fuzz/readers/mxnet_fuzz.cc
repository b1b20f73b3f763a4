// SPDX-License-Identifier: Apache-2.0
// Fuzzes MXNet's RecordIO: as streams of bytes and of images, and with an index before the file,
// which gives the same records where it is right.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/fuzz/target.h"

namespace millhopper {
namespace {

constexpr size_t kMostRecords = 10000;

FileContent ReadMxnet(const FileEntry& file, const std::vector<std::string>& fields,
                      size_t most_bytes) {
  FormatArguments arguments;
  arguments.has_companions = !file.companion.empty();
  arguments.attributes.Set("fields", fields);
  const std::unique_ptr<FileFormat> format = FindFileFormat("mxnet")->Make(arguments);
  return ReadThrough(format.get(), file, kMostRecords, most_bytes);
}

}  // namespace
}  // namespace millhopper

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using millhopper::FileContent;
  using millhopper::ReadMxnet;
  static auto* file = new millhopper::InputFile;
  static auto* index = new millhopper::InputFile;
  file->Write(data, size);
  // A chunk is a block, or one record that is no longer than what deflate can expand to; a stream
  // doubles its buffer.
  const size_t most_bytes = 4 * ((size_t{1} << 20) + 1100 * size);
  const FileContent content = ReadMxnet({file->path(), ""}, {}, most_bytes);
  const FileContent again = ReadMxnet({file->path(), ""}, {}, most_bytes);
  CHECK(content.records == again.records);
  CHECK(content.loaded == again.loaded);
  CHECK_EQ(content.loaded.size(), content.records.size());
  CHECK_EQ(content.errors, again.errors);
  const FileContent images =
      ReadMxnet({file->path(), ""}, {"label float32[-1]", "id int64[]", "image bytes"}, most_bytes);
  CHECK(images.records == content.records);
  CHECK_LE(images.loaded.size(), images.records.size());
  millhopper::Outcome([&] {
    const millhopper::FormatSchema& schema = *millhopper::FindFileFormat("mxnet");
    schema.guess_fields(file->path(), schema.WithDefaults({}));
  });
  // The same input as the size of an index, the index, and its file.
  if (size == 0) return 0;
  const size_t index_size = std::min<size_t>(data[0], size - 1);
  index->Write(data + 1, index_size);
  file->Write(data + 1 + index_size, size - 1 - index_size);
  const FileContent indexed = ReadMxnet({file->path(), index->path()}, {}, most_bytes);
  CHECK_EQ(indexed.loaded.size(), indexed.records.size());
  if (!indexed.errors.empty()) return 0;
  CHECK(indexed.records == ReadMxnet({file->path(), ""}, {}, most_bytes).records);
  return 0;
}
