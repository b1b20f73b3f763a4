// SPDX-License-Identifier: Apache-2.0
// xz (tukaani.org/xz/xz-file-format.txt): blocks of LZMA2 with checksums.
#include <lzma.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/io/compression/compression.h"

namespace millhopper {
namespace {

constexpr char kMagic[] = {'\xfd', '7', 'z', 'X', 'Z', '\0'};
// Zeros become about a seven-thousandth; nothing becomes less.
constexpr uint64_t kMostExpansion = 1 << 14;

class XzDecoder final : public FrameDecoder {
 public:
  XzDecoder() { Begin(); }
  ~XzDecoder() override { lzma_end(&stream_); }
  XzDecoder(const XzDecoder&) = delete;
  XzDecoder& operator=(const XzDecoder&) = delete;

  void Begin() override {
    if (lzma_stream_decoder(&stream_, kMaxXzMemory, 0) != LZMA_OK) throw std::bad_alloc();
  }

  bool Decode(Buffers* buffers) override {
    stream_.next_in = reinterpret_cast<const uint8_t*>(buffers->in);
    stream_.avail_in = buffers->in_size;
    stream_.next_out = reinterpret_cast<uint8_t*>(buffers->out);
    stream_.avail_out = buffers->out_size;
    const lzma_ret result = lzma_code(&stream_, LZMA_RUN);
    buffers->in = reinterpret_cast<const char*>(stream_.next_in);
    buffers->in_size = stream_.avail_in;
    buffers->out = reinterpret_cast<char*>(stream_.next_out);
    buffers->out_size = stream_.avail_out;
    if (result != LZMA_OK && result != LZMA_BUF_ERROR && result != LZMA_STREAM_END) Fail(result);
    return result == LZMA_STREAM_END;
  }

 private:
  [[noreturn]] static void Fail(lzma_ret result) {
    switch (result) {
      case LZMA_MEM_ERROR:
        throw std::bad_alloc();
      case LZMA_MEMLIMIT_ERROR:
        Throw(ErrorCode::kResourceLimit, "it needs more than ", kMaxXzMemory,
              " bytes in memory; compress it again with a smaller dictionary (xz -6)");
      case LZMA_OPTIONS_ERROR:
        Throw(ErrorCode::kDataLoss, "it uses an option or a filter that liblzma does not know");
      default:
        Throw(ErrorCode::kDataLoss, "a block or its checksum is wrong");
    }
  }

  lzma_stream stream_ = LZMA_STREAM_INIT;
};

bool Begins(const char* head, size_t size) {
  return std::memcmp(head, kMagic, std::min(size, sizeof(kMagic))) == 0;
}

std::unique_ptr<FrameDecoder> Make() { return std::make_unique<XzDecoder>(); }

}  // namespace

// The decoder holds back no more than its dictionary has.
const Compression kXz = {"xz",           ".xz",        sizeof(kMagic), Begins,
                         kMostExpansion, kMaxXzMemory, true,           Make};

}  // namespace millhopper
