// SPDX-License-Identifier: Apache-2.0
// Changes idx files. In gzip files it mostly changes the compressed content.
#include <zlib.h>

#include <optional>
#include <string>

#include "tests/bytes.h"
#include "tests/fuzz/mutation.h"

namespace millhopper {
namespace {

constexpr size_t kMostExpanded = 4096;

// The beginning of the content of a gzip member, or nothing if the member is damaged.
std::optional<std::string> Inflated(const uint8_t* data, size_t size) {
  constexpr int kGzipOnly = 16 + MAX_WBITS;
  z_stream zlib = {};
  if (inflateInit2(&zlib, kGzipOnly) != Z_OK) return std::nullopt;
  std::string content(kMostExpanded, '\0');
  zlib.next_in = const_cast<Bytef*>(data);
  zlib.avail_in = static_cast<uInt>(size);
  zlib.next_out = reinterpret_cast<Bytef*>(content.data());
  zlib.avail_out = static_cast<uInt>(content.size());
  const int result = inflate(&zlib, Z_NO_FLUSH);
  content.resize(zlib.total_out);
  inflateEnd(&zlib);
  if (result != Z_OK && result != Z_STREAM_END) return std::nullopt;
  return content;
}

}  // namespace
}  // namespace millhopper

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned int seed) {
  constexpr unsigned int kOneInSo = 4;
  if (seed % kOneInSo != 0) {
    if (const auto content = millhopper::Inflated(data, size)) {
      const std::string changed = millhopper::Mutated(*content, millhopper::kMostExpanded);
      return millhopper::Replace(millhopper::Gzipped(changed), data, size, most);
    }
  }
  return LLVMFuzzerMutate(data, size, most);
}
