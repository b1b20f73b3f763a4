// SPDX-License-Identifier: Apache-2.0
// gzip: each member ends with the CRC-32 and the size of its content (RFC 1952). zlib: the stream
// ends with the Adler-32 of its content (RFC 1950).
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "framework/base/error.h"
#include "framework/io/compression/compression.h"

namespace millhopper {
namespace {

constexpr char kMagic[] = {'\x1f', '\x8b'};

// What zlib's inflateInit2 takes for the two forms of deflated data.
constexpr int kGzipForm = 16 + MAX_WBITS;
constexpr int kZlibForm = MAX_WBITS;

class InflateDecoder final : public FrameDecoder {
 public:
  explicit InflateDecoder(int form) {
    if (inflateInit2(&zlib_, form) != Z_OK) throw std::bad_alloc();
  }
  ~InflateDecoder() override { inflateEnd(&zlib_); }
  InflateDecoder(const InflateDecoder&) = delete;
  InflateDecoder& operator=(const InflateDecoder&) = delete;

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

// Writes no time and no name, so that equal contents give equal bytes.
class GzipEncoder final : public FrameEncoder {
 public:
  GzipEncoder() {
    constexpr int kMemory = 8;  // zlib's default
    if (deflateInit2(&zlib_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipForm, kMemory,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
      throw std::bad_alloc();
    }
  }
  ~GzipEncoder() override { deflateEnd(&zlib_); }
  GzipEncoder(const GzipEncoder&) = delete;
  GzipEncoder& operator=(const GzipEncoder&) = delete;

  void Encode(const char* bytes, size_t size, bool last, std::string* out) override {
    char room[kEncodedAtOnce];
    do {
      const size_t now = std::min<size_t>(size, std::numeric_limits<uInt>::max());
      zlib_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes));
      zlib_.avail_in = static_cast<uInt>(now);
      bytes += now;
      size -= now;
      do {
        zlib_.next_out = reinterpret_cast<Bytef*>(room);
        zlib_.avail_out = sizeof(room);
        deflate(&zlib_, last && size == 0 ? Z_FINISH : Z_NO_FLUSH);
        out->append(room, sizeof(room) - zlib_.avail_out);
      } while (zlib_.avail_out == 0);
    } while (size > 0);
  }

 private:
  static constexpr size_t kEncodedAtOnce = size_t{32} << 10;

  z_stream zlib_ = {};
};

std::unique_ptr<FrameEncoder> MakeGzipEncoder() { return std::make_unique<GzipEncoder>(); }

bool BeginsGzip(const char* head, size_t size) {
  return std::memcmp(head, kMagic, std::min(size, sizeof(kMagic))) == 0;
}

std::unique_ptr<FrameDecoder> MakeGzip() { return std::make_unique<InflateDecoder>(kGzipForm); }

// The first byte is the method (8) and the size of the window; both bytes are a multiple of 31.
bool BeginsZlib(const char* head, size_t size) {
  const auto first = static_cast<unsigned char>(head[0]);
  if ((first & 0x0f) != 8 || first >> 4 > 7) return false;
  return size < 2 || (first * 256 + static_cast<unsigned char>(head[1])) % 31 == 0;
}

std::unique_ptr<FrameDecoder> MakeZlib() { return std::make_unique<InflateDecoder>(kZlibForm); }

}  // namespace

// Two bits of deflate give at most 258 bytes, so a byte gives 1032; zlib holds some back.
const Compression kGzip = {"gzip",   ".gz", sizeof(kMagic), BeginsGzip,     1032,
                           64 << 10, true,  MakeGzip,       MakeGzipEncoder};
const Compression kZlib = {"zlib", "", 2, BeginsZlib, 1032, 64 << 10, false, MakeZlib};

}  // namespace millhopper
