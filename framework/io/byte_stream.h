// SPDX-License-Identifier: Apache-2.0
// A file read from its beginning to its end, plain or decompressed.
#ifndef MILLHOPPER_FRAMEWORK_IO_BYTE_STREAM_H_
#define MILLHOPPER_FRAMEWORK_IO_BYTE_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>

#include "framework/io/file.h"

namespace millhopper {

// The bytes of a file, decompressed if the file begins as gzip, zstd or lz4 does (compression.h). A
// file whose name ends in .gz, .zst or .lz4 must: an empty one was cut off. One thread at a time.
class ByteStream {
 public:
  // Throws as File::Open, kDataLoss for a file that is not what its name says, and
  // kInvalidArgument for a compressed one that is to be mapped.
  explicit ByteStream(const std::string& path, BufferType buffer_type = BufferType::kMemory);
  ~ByteStream();
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  // Reads `size` bytes; fewer only at the end of the stream, or where an error lies: the next call
  // throws it, again and again. Errors are kDataLoss, kResourceLimit or kIo and name the file and
  // the byte of it: a stream that is damaged, that ends early, or that is followed by anything but
  // more of its kind (or, behind gzip, zeros to the end of the file). Content that was read before
  // an error is right, but for frames of kReadBlockBytes or more, of which only the end tells
  // whether they are: there an error may say that something was wrong.
  size_t Read(char* out, size_t size);
  // How many bytes were read so far.
  uint64_t position() const { return position_; }
  // No more than so many bytes can follow, whatever the file says.
  uint64_t most_left() const;
  // True if the stream is the file as it lies, which any thread may then read at any place.
  bool plain() const { return decompressor_ == nullptr; }
  const File& file() const { return *file_; }
  const std::string& path() const { return file_->path(); }
  // "byte 17", or "byte 17 of the decompressed content".
  std::string Describe(uint64_t position) const;

 private:
  class Decompressor;

  const std::unique_ptr<const File> file_;
  std::unique_ptr<Decompressor> decompressor_;
  uint64_t position_ = 0;
  std::exception_ptr error_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_BYTE_STREAM_H_
