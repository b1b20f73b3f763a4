// SPDX-License-Identifier: Apache-2.0
// gzip: each member ends with the CRC-32 and the size of its content.
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "framework/base/error.h"
#include "framework/io/compression.h"

namespace millhopper {
namespace {

constexpr char kMagic[] = {'\x1f', '\x8b'};

class GzipDecoder final : public FrameDecoder {
 public:
  GzipDecoder() {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    if (inflateInit2(&zlib_, kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~GzipDecoder() override { inflateEnd(&zlib_); }
  GzipDecoder(const GzipDecoder&) = delete;
  GzipDecoder& operator=(const GzipDecoder&) = delete;

  void Begin() override { inflateReset(&zlib_); }

  bool Decode(Buffers* buffers) override {
    const auto limited = [](size_t size) {
      return static_cast<uInt>(std::min<size_t>(size, std::numeric_limits<uInt>::max()));
    };
    zlib_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(buffers->in));
    zlib_.avail_in = limited(buffers->in_size);
    zlib_.next_out = reinterpret_cast<Bytef*>(buffers->out);
    zlib_.avail_out = limited(buffers->out_size);
    const int result = inflate(&zlib_, Z_NO_FLUSH);
    const auto* in = reinterpret_cast<const char*>(zlib_.next_in);
    auto* out = reinterpret_cast<char*>(zlib_.next_out);
    buffers->in_size -= static_cast<size_t>(in - buffers->in);
    buffers->in = in;
    buffers->out_size -= static_cast<size_t>(out - buffers->out);
    buffers->out = out;
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    if (result != Z_OK && result != Z_BUF_ERROR && result != Z_STREAM_END) {
      Throw(ErrorCode::kDataLoss, zlib_.msg == nullptr ? "it needs a dictionary" : zlib_.msg);
    }
    return result == Z_STREAM_END;
  }

 private:
  z_stream zlib_ = {};
};

bool Begins(const char* head, size_t size) {
  return std::memcmp(head, kMagic, std::min(size, sizeof(kMagic))) == 0;
}

std::unique_ptr<FrameDecoder> Make() { return std::make_unique<GzipDecoder>(); }

}  // namespace

// Two bits of deflate give at most 258 bytes, so a byte gives 1032; zlib holds some back.
const Compression kGzip = {"gzip", ".gz", sizeof(kMagic), Begins, 1032, 64 << 10, true, Make};

}  // namespace millhopper
