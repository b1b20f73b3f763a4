// SPDX-License-Identifier: Apache-2.0
// Fuzzes MDS: an index, and a shard after a byte that chooses its columns, under an index that
// tells its size.
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "readers/formats/mds/mds_index.h"
#include "tests/files/mds_shards.h"
#include "tests/fuzz/target.h"

namespace millhopper {
namespace {

constexpr size_t kMostRecords = 10000;

struct Layout {
  MdsTestColumns columns;
  std::vector<std::string> fields;
};

FileContent ReadMds(const std::string& index, const std::vector<std::string>& fields,
                    size_t most_bytes) {
  FormatArguments arguments;
  arguments.attributes.Set("fields", fields);
  const std::unique_ptr<FileFormat> format = FindFileFormat("mds")->Make(arguments);
  return ReadThrough(format.get(), {index, ""}, kMostRecords, most_bytes);
}

void FuzzShard(const Layout& layout, const uint8_t* data, size_t size) {
  static auto* index = new InputFile;
  static auto* shard = new InputFile;
  shard->Write(data, size);
  uint32_t samples = 0;
  if (size >= sizeof(samples)) std::memcpy(&samples, data, sizeof(samples));
  const std::string text = MdsIndexOf({MdsEntry(
      layout.columns, shard->path().substr(shard->path().rfind('/') + 1), size, samples)});
  index->Write(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  const size_t most_bytes = 4 * ((size_t{1} << 20) + size);
  const FileContent content = ReadMds(index->path(), layout.fields, most_bytes);
  const FileContent again = ReadMds(index->path(), layout.fields, most_bytes);
  CHECK(content.records == again.records);
  CHECK(content.loaded == again.loaded);
  CHECK_EQ(content.errors, again.errors);
  Outcome([&] { FindFileFormat("mds")->guess_fields(index->path(), {}); });
}

}  // namespace
}  // namespace millhopper

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto* layouts = new std::vector<millhopper::Layout>{
      {{{"n", "int", 8}, {"text", "str", 0}}, {"n int64[]", "text bytes"}},
      {{{"a", "ndarray", 0}, {"b", "ndarray:float32", 0}}, {"a float32[-1]", "b float64[-1, 2]"}},
      {{{"a", "ndarray:int16:2,3", 12}, {"u", "uint64", 8}}, {"a int32[2, 3]", "u int64[]"}},
      {{{"a", "jpeg_array", 0}, {"b", "list[png]", 0}, {"i", "str_int", 0}},
       {"a bytes[-1]", "b bytes[-1]", "i int64[]"}},
  };
  static auto* file = new millhopper::InputFile;
  file->Write(data, size);
  millhopper::Outcome([&] { millhopper::ReadMdsIndex(file->path()); });
  if (size == 0) return 0;
  millhopper::FuzzShard((*layouts)[data[0] % layouts->size()], data + 1, size - 1);
  return 0;
}
