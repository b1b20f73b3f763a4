// SPDX-License-Identifier: Apache-2.0
// What files may be compressed with. A compressed file is frames (gzip calls them members) one
// behind another, each with content of its own. Which kind a file is its first bytes tell.
#ifndef MILLHOPPER_FRAMEWORK_IO_COMPRESSION_H_
#define MILLHOPPER_FRAMEWORK_IO_COMPRESSION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "framework/io/file.h"

namespace millhopper {

// Decompresses one frame after another. One thread at a time.
class FrameDecoder {
 public:
  // What is left of the input, and of the room for content.
  struct Buffers {
    const char* in;
    size_t in_size;
    char* out;
    size_t out_size;
  };

  virtual ~FrameDecoder() = default;
  // A new frame begins.
  virtual void Begin() = 0;
  // Goes on with the frame and moves on in both buffers, as far as one of them reaches; true at the
  // end of the frame, whose content and checksum are then known to be right. Takes nothing that
  // lies behind the frame. Throws kDataLoss or kResourceLimit, saying what is wrong with the frame
  // but not where.
  virtual bool Decode(Buffers* buffers) = 0;
};

// A kind of compressed file. Added by a file of its own beside these and a line in compression.cc.
struct Compression {
  const char* name;       // "gzip", as error texts call it
  const char* extension;  // ".gz"
  // So many bytes tell whether a frame begins here,
  size_t head_bytes;
  // and this says it; where the file has fewer, it says whether they could be the first of them.
  bool (*begins)(const char* head, size_t size);
  // A byte gives at most so many of content,
  uint64_t most_expansion;
  // beside so many that the decoder may hold back.
  uint64_t most_held_back;
  // Zeros may follow the last frame to the end of the file, as what writes whole blocks leaves
  // them.
  bool ends_in_zeros;
  std::unique_ptr<FrameDecoder> (*make)();
};

extern const Compression kGzip;
extern const Compression kZstd;
extern const Compression kLz4;

// By the first bytes of a file; null if it is not compressed. Frames of zstd and lz4 that are to be
// skipped may come first. Throws as File::Read.
const Compression* CompressionOf(const File& file);
// By the extension of a name; null if it has none of theirs.
const Compression* CompressionByName(const std::string& path);
// The name without the extension of a compression.
std::string WithoutCompression(const std::string& path);

// Whether a frame to be skipped begins so, of which zstd and lz4 have the same kind.
bool IsSkippableFrame(const char* head, size_t size);
// Whether the first min(size, 4) bytes are those of this number, the lowest first.
bool HasMagic(const char* head, size_t size, uint32_t magic);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_COMPRESSION_H_
