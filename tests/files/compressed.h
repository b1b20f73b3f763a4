// SPDX-License-Identifier: Apache-2.0
// Compressed frames for tests, made with the libraries that users' tools are built on.
#ifndef MILLHOPPER_TESTS_FILES_COMPRESSED_H_
#define MILLHOPPER_TESTS_FILES_COMPRESSED_H_

#include <bzlib.h>
#include <gtest/gtest.h>
#include <lz4frame.h>
#include <lzma.h>
#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace millhopper {

struct FrameOptions {
  bool checksum = true;
  bool sized = true;  // the header says how long the content is
  int level = 3;
  int zstd_window_log = 0;  // 0: the level decides
  size_t flush_every = 0;   // bytes after which a block ends; 0: all content at once
};

inline std::string Zstd(const std::string& content, const FrameOptions& options = {}) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, options.level);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, options.checksum ? 1 : 0);
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, options.sized ? 1 : 0);
  if (options.zstd_window_log > 0) {
    ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, options.zstd_window_log);
  }
  std::string out(ZSTD_compressBound(content.size()) + 1000 + content.size() / 2, '\0');
  ZSTD_outBuffer to = {out.data(), out.size(), 0};
  const size_t step = options.flush_every == 0 ? content.size() : options.flush_every;
  if (options.sized && step >= content.size()) {
    to.pos = ZSTD_compress2(context, out.data(), out.size(), content.data(), content.size());
    EXPECT_EQ(ZSTD_isError(to.pos), 0u);
  } else {
    if (options.sized) ZSTD_CCtx_setPledgedSrcSize(context, content.size());
    ZSTD_inBuffer from = {content.data(), 0, 0};
    do {
      from.size = std::min(content.size(), from.pos + step);
      const bool last = from.size == content.size();
      EXPECT_EQ(ZSTD_compressStream2(context, &to, &from, last ? ZSTD_e_end : ZSTD_e_flush), 0u);
    } while (from.size < content.size());
  }
  ZSTD_freeCCtx(context);
  out.resize(to.pos);
  return out;
}

inline std::string Lz4(const std::string& content, const FrameOptions& options = {}) {
  LZ4F_preferences_t preferences = LZ4F_INIT_PREFERENCES;
  preferences.compressionLevel = options.level;
  preferences.frameInfo.contentChecksumFlag =
      options.checksum ? LZ4F_contentChecksumEnabled : LZ4F_noContentChecksum;
  preferences.frameInfo.contentSize = options.sized ? content.size() : 0;
  std::string out(LZ4F_compressFrameBound(content.size(), &preferences), '\0');
  out.resize(
      LZ4F_compressFrame(out.data(), out.size(), content.data(), content.size(), &preferences));
  return out;
}

inline std::string Bzip2(const std::string& content) {
  auto size = static_cast<unsigned>(content.size() + content.size() / 100 + 600);
  std::string out(size, '\0');
  EXPECT_EQ(BZ2_bzBuffToBuffCompress(out.data(), &size, const_cast<char*>(content.data()),
                                     static_cast<unsigned>(content.size()), 1, 0, 0),
            BZ_OK);
  out.resize(size);
  return out;
}

// `preset` is that of the command: with -0 a decoder needs little memory.
inline std::string Xz(const std::string& content, uint32_t preset = 0) {
  std::string out(lzma_stream_buffer_bound(content.size()), '\0');
  size_t size = 0;
  EXPECT_EQ(lzma_easy_buffer_encode(
                preset, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const uint8_t*>(content.data()),
                content.size(), reinterpret_cast<uint8_t*>(out.data()), &size, out.size()),
            LZMA_OK);
  out.resize(size);
  return out;
}

// A skippable frame, which zstd and lz4 ignore; `kind` is 0 to 15.
inline std::string Skippable(const std::string& bytes, int kind = 0) {
  std::string frame = {static_cast<char>(0x50 + kind), 0x2a, 0x4d, 0x18};
  for (int i = 0; i < 4; ++i) frame += static_cast<char>(bytes.size() >> (8 * i));
  return frame + bytes;
}

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FILES_COMPRESSED_H_
