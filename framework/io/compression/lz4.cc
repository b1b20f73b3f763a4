// SPDX-License-Identifier: Apache-2.0
// Frames of lz4: a frame may have checksums of its blocks and of its content. Its older frames,
// which have none, and dictionaries are not supported.
#include <lz4frame.h>

#include <new>

#include "framework/base/error.h"
#include "framework/io/compression/compression.h"

namespace millhopper {
namespace {

constexpr uint32_t kMagic = 0x184d2204;
constexpr size_t kMagicBytes = 4;
constexpr size_t kHeadBytes = kMagicBytes + 1;  // with the flags
constexpr char kDictionaryFlag = 1;
constexpr uint64_t kMostBlockBytes = 4 << 20;

class Lz4Decoder final : public FrameDecoder {
 public:
  Lz4Decoder() {
    if (LZ4F_isError(LZ4F_createDecompressionContext(&context_, LZ4F_VERSION)) != 0) {
      throw std::bad_alloc();
    }
  }
  ~Lz4Decoder() override { LZ4F_freeDecompressionContext(context_); }
  Lz4Decoder(const Lz4Decoder&) = delete;
  Lz4Decoder& operator=(const Lz4Decoder&) = delete;

  void Begin() override {
    LZ4F_resetDecompressionContext(context_);
    begun_ = false;
  }

  bool Decode(Buffers* buffers) override {
    if (!begun_) CheckHead(buffers->in, buffers->in_size);
    begun_ = true;
    size_t used = buffers->in_size;
    size_t made = buffers->out_size;
    const size_t result =
        LZ4F_decompress(context_, buffers->out, &made, buffers->in, &used, nullptr);
    if (LZ4F_isError(result) != 0) Throw(ErrorCode::kDataLoss, LZ4F_getErrorName(result));
    buffers->in += used;
    buffers->in_size -= used;
    buffers->out += made;
    buffers->out_size -= made;
    return result == 0;
  }

 private:
  // The library ignores that a frame needs a dictionary.
  static void CheckHead(const char* head, size_t size) {
    if (size < kHeadBytes || !HasMagic(head, size, kMagic)) return;
    if ((head[kMagicBytes] & kDictionaryFlag) != 0) {
      Throw(ErrorCode::kDataLoss, "it needs a dictionary");
    }
  }

  LZ4F_dctx* context_ = nullptr;
  bool begun_ = false;
};

bool Begins(const char* head, size_t size) {
  return HasMagic(head, size, kMagic) || IsSkippableFrame(head, size);
}

std::unique_ptr<FrameDecoder> Make() { return std::make_unique<Lz4Decoder>(); }

}  // namespace

// Each further byte of a length stands for at most 255 bytes of content.
const Compression kLz4 = {"lz4", ".lz4", kHeadBytes, Begins, 256, 2 * kMostBlockBytes, false, Make};

}  // namespace millhopper
