// SPDX-License-Identifier: Apache-2.0
// zstd (RFC 8878): a frame may end with a checksum of its content. Dictionaries are not supported.
#include <zstd.h>
#include <zstd_errors.h>

#include <new>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/io/compression/compression.h"

namespace millhopper {
namespace {

constexpr size_t kMagicBytes = 4;
constexpr uint64_t kBlockBytes = 128 << 10;

class ZstdDecoder final : public FrameDecoder {
 public:
  ZstdDecoder() : context_(ZSTD_createDCtx()) {
    if (context_ == nullptr) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, kMaxZstdWindowLog);
  }
  ~ZstdDecoder() override { ZSTD_freeDCtx(context_); }
  ZstdDecoder(const ZstdDecoder&) = delete;
  ZstdDecoder& operator=(const ZstdDecoder&) = delete;

  void Begin() override { ZSTD_DCtx_reset(context_, ZSTD_reset_session_only); }

  bool Decode(Buffers* buffers) override {
    ZSTD_inBuffer in = {buffers->in, buffers->in_size, 0};
    ZSTD_outBuffer out = {buffers->out, buffers->out_size, 0};
    const size_t result = ZSTD_decompressStream(context_, &out, &in);
    buffers->in += in.pos;
    buffers->in_size -= in.pos;
    buffers->out += out.pos;
    buffers->out_size -= out.pos;
    if (ZSTD_isError(result) != 0) Fail(result);
    return result == 0;
  }

 private:
  [[noreturn]] static void Fail(size_t result) {
    const ZSTD_ErrorCode code = ZSTD_getErrorCode(result);
    if (code == ZSTD_error_memory_allocation) throw std::bad_alloc();
    if (code == ZSTD_error_frameParameter_windowTooLarge) {
      Throw(ErrorCode::kResourceLimit, "it needs a window of more than ",
            uint64_t{1} << kMaxZstdWindowLog, " bytes in memory; compress it again without --long");
    }
    Throw(ErrorCode::kDataLoss, ZSTD_getErrorName(result));
  }

  ZSTD_DCtx* const context_;
};

// Each frame ends with a checksum.
class ZstdEncoder final : public FrameEncoder {
 public:
  ZstdEncoder() : context_(ZSTD_createCCtx()) {
    if (context_ == nullptr) throw std::bad_alloc();
    ZSTD_CCtx_setParameter(context_, ZSTD_c_checksumFlag, 1);
  }
  ~ZstdEncoder() override { ZSTD_freeCCtx(context_); }
  ZstdEncoder(const ZstdEncoder&) = delete;
  ZstdEncoder& operator=(const ZstdEncoder&) = delete;

  void Encode(const char* bytes, size_t size, bool last, std::string* out) override {
    char room[kEncodedAtOnce];
    ZSTD_inBuffer in = {bytes, size, 0};
    for (size_t left = 1; left > 0;) {
      ZSTD_outBuffer encoded = {room, sizeof(room), 0};
      left = ZSTD_compressStream2(context_, &encoded, &in, last ? ZSTD_e_end : ZSTD_e_continue);
      if (ZSTD_isError(left) != 0) throw std::bad_alloc();  // nothing else can fail here
      out->append(room, encoded.pos);
      if (!last) left = in.size - in.pos;
    }
  }

 private:
  static constexpr size_t kEncodedAtOnce = size_t{32} << 10;

  ZSTD_CCtx* const context_;
};

std::unique_ptr<FrameEncoder> MakeEncoder() { return std::make_unique<ZstdEncoder>(); }

bool Begins(const char* head, size_t size) {
  return HasMagic(head, size, ZSTD_MAGICNUMBER) || IsSkippableFrame(head, size);
}

std::unique_ptr<FrameDecoder> Make() { return std::make_unique<ZstdDecoder>(); }

}  // namespace

// The densest block repeats one byte and takes four bytes. The decoder holds back at most one
// block; the larger number here gives all small files room of one size.
const Compression kZstd = {"zstd",          ".zst", kMagicBytes, Begins,     kBlockBytes / 4,
                           kReadBlockBytes, false,  Make,        MakeEncoder};

}  // namespace millhopper
