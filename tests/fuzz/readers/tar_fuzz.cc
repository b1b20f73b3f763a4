// SPDX-License-Identifier: Apache-2.0
// Fuzzes tar archives, plain and compressed. A plain one gives the same records through a stream.
#include <zlib.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/fuzz/target.h"

namespace millhopper {
namespace {

constexpr size_t kMostRecords = 10000;

FileContent ReadTar(const std::string& path, size_t most_bytes) {
  FormatArguments arguments;
  arguments.attributes.Set("fields",
                           std::vector<std::string>{"__key__ bytes", "a bytes missing=default",
                                                    "cls int64[] decode=text default=0",
                                                    "json:n float32[-1] missing=default"});
  const std::unique_ptr<FileFormat> format = FindFileFormat("tar")->make(arguments);
  return ReadThrough(format.get(), {path, ""}, kMostRecords, most_bytes);
}

// gzip, without compressing.
std::vector<uint8_t> Stored(const uint8_t* data, size_t size) {
  constexpr int kGzip = 16 + MAX_WBITS;
  z_stream zlib = {};
  CHECK_EQ(deflateInit2(&zlib, 0, Z_DEFLATED, kGzip, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY), Z_OK);
  std::vector<uint8_t> out(size + size / 2 + 1024);
  zlib.next_in = const_cast<uint8_t*>(data);
  zlib.avail_in = static_cast<uInt>(size);
  zlib.next_out = out.data();
  zlib.avail_out = static_cast<uInt>(out.size());
  CHECK_EQ(deflate(&zlib, Z_FINISH), Z_STREAM_END);
  out.resize(zlib.total_out);
  deflateEnd(&zlib);
  return out;
}

}  // namespace
}  // namespace millhopper

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto* file = new millhopper::InputFile;
  static auto* packed = new millhopper::InputFile;
  file->Write(data, size);
  // A chunk is a block, or one record that is no longer than what deflate can expand to; a stream
  // doubles its buffer.
  const size_t most_bytes = 4 * ((size_t{1} << 20) + 1100 * size);
  const millhopper::FileContent content = millhopper::ReadTar(file->path(), most_bytes);
  CHECK_LE(content.loaded.size(), content.records.size());
  const bool is_gzip = size >= 2 && data[0] == 0x1f && data[1] == 0x8b;
  const bool is_other =
      size >= 4 && (data[3] == 0xfd || data[3] == 0x18 || data[3] == 0x2a || data[2] == 0x2a);
  if (is_gzip || is_other) return 0;
  const std::vector<uint8_t> stored = millhopper::Stored(data, size);
  packed->Write(stored.data(), stored.size());
  const millhopper::FileContent streamed = millhopper::ReadTar(packed->path(), most_bytes);
  CHECK(content.records == streamed.records);
  CHECK(content.loaded == streamed.loaded);
  CHECK_EQ(content.errors.empty(), streamed.errors.empty());
  return 0;
}
