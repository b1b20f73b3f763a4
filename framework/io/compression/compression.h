// SPDX-License-Identifier: Apache-2.0
// The compressions of whole files. A compressed file is a sequence of frames (gzip calls them
// members), each with its own content. The first bytes of a file tell its compression.
#ifndef MILLHOPPER_FRAMEWORK_IO_COMPRESSION_COMPRESSION_H_
#define MILLHOPPER_FRAMEWORK_IO_COMPRESSION_COMPRESSION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace millhopper {

// Decompresses one frame after another. One thread at a time.
class FrameDecoder {
 public:
  // The rest of the input, and the free room for content.
  struct Buffers {
    const char* in;
    size_t in_size;
    char* out;
    size_t out_size;
  };

  virtual ~FrameDecoder() = default;
  // A new frame begins.
  virtual void Begin() = 0;
  // Decompresses more of the frame and advances both buffers until one of them is used up or the
  // frame ends. Returns true at the end of the frame; then its content and checksum are right.
  // Takes no input after the frame. Throws kDataLoss or kResourceLimit with what is wrong with the
  // frame; the caller adds the place.
  virtual bool Decode(Buffers* buffers) = 0;
};

// Compresses the content of one frame. One thread at a time.
class FrameEncoder {
 public:
  virtual ~FrameEncoder() = default;
  // Takes more content and appends what is compressed of it by now; with `last` all of it, and the
  // end of the frame. Equal contents, cut in any way, give equal bytes if they are compressed by
  // the same library.
  virtual void Encode(const char* bytes, size_t size, bool last, std::string* out) = 0;
};

// A compression. Each has its own source file in this folder and a line in compression.cc.
struct Compression {
  const char* name;       // "gzip", as error texts call it
  const char* extension;  // ".gz"; "" if names do not tell it
  // How many bytes `begins` needs to recognise the beginning of a frame.
  size_t head_bytes;
  // Whether a frame begins with these bytes. If the file has fewer than head_bytes left, whether a
  // frame could begin with those.
  bool (*begins)(const char* head, size_t size);
  // The most bytes of content that one compressed byte gives,
  uint64_t most_expansion;
  // besides those that the decoder has taken in and not given out yet.
  uint64_t most_held_back;
  // Whether zeros may follow the last frame up to the end of the file. Programs that write whole
  // blocks, such as tar, leave them.
  bool ends_in_zeros;
  std::unique_ptr<FrameDecoder> (*make)();
  std::unique_ptr<FrameEncoder> (*make_encoder)() = nullptr;  // null if it is only read
};

extern const Compression kGzip;
extern const Compression kZstd;
extern const Compression kLz4;
extern const Compression kBzip2;
extern const Compression kXz;
// Two bytes do not tell zlib from other data, so CompressionOf does not know it: a format asks for
// it.
extern const Compression kZlib;

// Reads up to `size` bytes of a file from `offset` on; fewer only where it ends.
using ReadAt = std::function<size_t(uint64_t offset, char* out, size_t size)>;
// By the first bytes of a file; null if it is not compressed. The skippable frames of zstd and lz4
// may come first. Throws what `read` throws.
const Compression* CompressionOf(const std::string& path, const ReadAt& read);
// By the extension of a name, which the query of a URL may follow; null if no compression has this
// extension, and for a command (one_pass.h).
const Compression* CompressionByName(const std::string& path);
// The name without the extension of a compression and without the query of a URL.
std::string WithoutCompression(const std::string& path);

// Whether a skippable frame begins with these bytes. zstd and lz4 share this kind of frame.
bool IsSkippableFrame(const char* head, size_t size);
// Whether the first min(size, 4) bytes are those of this number in little-endian order.
bool HasMagic(const char* head, size_t size, uint32_t magic);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_COMPRESSION_COMPRESSION_H_
