// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/readers/recordio_target.h"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/fuzz/target.h"

namespace millhopper {
namespace {

constexpr size_t kMostRecords = 10000;

std::unique_ptr<FileFormat> Make(const std::string& content, const std::vector<SlotSpec>& slots) {
  FormatArguments arguments;
  arguments.declared = slots;
  arguments.attributes.Set("content", content);
  return FindFileFormat("recordio")->Make(arguments);
}

SlotSpec Slot(DataType dtype, const Dims& dims, int lod_level) {
  SlotSpec slot;
  slot.dtype = dtype;
  slot.dims = dims;
  slot.lod_level = lod_level;
  return slot;
}

// Checks that a chunk of this dialect and compressor gives the records back.
void CheckCompression(RecordIODialect dialect, RecordIOCompressor compressor,
                      const std::string& payload, const std::vector<std::string>& records) {
  const std::string stored = CompressRecordIO(dialect, compressor, payload);
  size_t expanded = 0;
  const Ref<Buffer> buffer =
      ExpandRecordIO(dialect, compressor, stored.data(), stored.size(), &expanded);
  PooledVector<Piece> pieces;
  ListRecords(buffer->data(), expanded, 0, static_cast<uint32_t>(records.size()), &pieces);
  for (size_t i = 0; i < records.size(); ++i) {
    CHECK(records[i] == std::string(buffer->data() + pieces[i].offset, pieces[i].size));
  }
}

}  // namespace

void ReadRecordIO(RecordIODialect dialect, const uint8_t* data, size_t size) {
  static auto* file = new InputFile;
  file->Write(data, size);
  const FileEntry entry{file->path(), ""};
  // Deflate expands to 1,032 times at most; buffers are rounded up.
  const size_t most_bytes = 2 * ((size_t{1} << 20) + 1100 * size);
  const FileContent content = ReadThrough(Make("bytes", {}).get(), entry, kMostRecords, most_bytes);
  const FileContent again = ReadThrough(Make("bytes", {}).get(), entry, kMostRecords, most_bytes);
  CHECK(content.records == again.records);
  CHECK_EQ(content.errors, again.errors);
  CHECK_EQ(content.loaded.size(), content.records.size());
  for (const auto& slots : std::vector<std::vector<SlotSpec>>{
           {Slot(DataType::kFp32, {1, 2}, 0), Slot(DataType::kInt64, {1, 1}, 0)},
           {Slot(DataType::kInt64, {-1, 1}, 1)}}) {
    const FileContent tensors =
        ReadThrough(Make("tensors", slots).get(), entry, kMostRecords, most_bytes);
    CHECK(content.records == tensors.records);
  }
  std::string payload;
  for (const std::string& record : content.records) {
    const auto length = static_cast<uint32_t>(record.size());
    payload.append(reinterpret_cast<const char*>(&length), sizeof(length));
    payload += record;
  }
  for (const auto compressor : {RecordIOCompressor::kSnappy, RecordIOCompressor::kGzip}) {
    CheckCompression(dialect, compressor, payload, content.records);
  }
}

}  // namespace millhopper
