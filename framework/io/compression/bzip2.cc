// SPDX-License-Identifier: Apache-2.0
// bzip2: blocks of up to 900,000 bytes, each with a checksum, and a checksum of all.
#include <bzlib.h>

#include <algorithm>
#include <limits>
#include <new>

#include "framework/base/error.h"
#include "framework/io/compression/compression.h"

namespace millhopper {
namespace {

// "BZh", the size of the blocks in units of 100,000 bytes, and the first byte of a block or of the
// end.
constexpr size_t kHeadBytes = 5;
constexpr uint64_t kMostBlockBytes = 900'000;
// A run of so many equal bytes takes five in a block.
constexpr uint64_t kMostRun = 255 + 4;
constexpr uint64_t kMostContent = kMostBlockBytes / 5 * kMostRun;
// A block has at least a head and tables.
constexpr uint64_t kLeastBlock = 24;

class Bzip2Decoder final : public FrameDecoder {
 public:
  Bzip2Decoder() { Open(); }
  ~Bzip2Decoder() override { BZ2_bzDecompressEnd(&stream_); }
  Bzip2Decoder(const Bzip2Decoder&) = delete;
  Bzip2Decoder& operator=(const Bzip2Decoder&) = delete;

  void Begin() override {
    BZ2_bzDecompressEnd(&stream_);
    Open();
  }

  bool Decode(Buffers* buffers) override {
    const auto limited = [](size_t size) {
      return static_cast<unsigned>(std::min<size_t>(size, std::numeric_limits<unsigned>::max()));
    };
    stream_.next_in = const_cast<char*>(buffers->in);
    stream_.avail_in = limited(buffers->in_size);
    stream_.next_out = buffers->out;
    stream_.avail_out = limited(buffers->out_size);
    const int result = BZ2_bzDecompress(&stream_);
    buffers->in_size -= static_cast<size_t>(stream_.next_in - buffers->in);
    buffers->in = stream_.next_in;
    buffers->out_size -= static_cast<size_t>(stream_.next_out - buffers->out);
    buffers->out = stream_.next_out;
    if (result == BZ_MEM_ERROR) throw std::bad_alloc();
    if (result != BZ_OK && result != BZ_STREAM_END) {
      Throw(ErrorCode::kDataLoss, "a block or its checksum is wrong");
    }
    return result == BZ_STREAM_END;
  }

 private:
  void Open() {
    stream_ = {};
    if (BZ2_bzDecompressInit(&stream_, 0, 0) != BZ_OK) throw std::bad_alloc();
  }

  bz_stream stream_;
};

bool Begins(const char* head, size_t size) {
  const auto is = [=](size_t i, char least, char most) {
    return i >= size || (head[i] >= least && head[i] <= most);
  };
  const bool has_block = size < kHeadBytes || head[4] == 0x31 || head[4] == 0x17;
  return is(0, 'B', 'B') && is(1, 'Z', 'Z') && is(2, 'h', 'h') && is(3, '1', '9') && has_block;
}

std::unique_ptr<FrameDecoder> Make() { return std::make_unique<Bzip2Decoder>(); }

}  // namespace

const Compression kBzip2 = {"bzip2",      ".bz2", kHeadBytes, Begins, kMostContent / kLeastBlock,
                            kMostContent, false,  Make};

}  // namespace millhopper
