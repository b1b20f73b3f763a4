// SPDX-License-Identifier: Apache-2.0
// A file read from its beginning to its end, plain or decompressed.
#ifndef MILLHOPPER_FRAMEWORK_IO_COMPRESSION_BYTE_STREAM_H_
#define MILLHOPPER_FRAMEWORK_IO_COMPRESSION_BYTE_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>

#include "framework/io/file.h"

namespace millhopper {

class OnePassStream;
class TextDecoder;
struct Compression;

// The bytes of a file, which may be one that can be read once only (one_pass.h), decompressed if
// the file begins as gzip, zstd or lz4 does (compression.h). A file whose name ends in .gz, .zst or
// .lz4 must begin so; an empty one was cut off. One thread at a time.
class ByteStream {
 public:
  // Throws what File::Open and OnePassFiles::Open throw, kDataLoss if the file is not what its name
  // says, and kInvalidArgument for kMmap with a file that is compressed or can be read once only.
  explicit ByteStream(const std::string& path, BufferType buffer_type = BufferType::kMemory);
  // The content of a file that is compressed so, whatever its first bytes and its name say. Throws
  // what File::Open and OnePassFiles::Open throw.
  ByteStream(const std::string& path, const Compression& compression);
  // What an opened file has from byte `begin` on, compressed so; null is plain. The position of a
  // plain one is its byte in the file.
  ByteStream(std::unique_ptr<const File> file, uint64_t begin, const Compression* compression);
  ~ByteStream();
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  // Has all that is read be UTF-8, from a text in this encoding, by a name of iconv. "" and names
  // of UTF-8 leave it as it is, unless it begins with the mark of UTF-16 or UTF-32. Called before
  // anything is read; looks at the first bytes. Throws kInvalidArgument for another name, and what
  // reading throws.
  void DecodeText(const std::string& encoding);

  // Reads `size` bytes. It returns fewer only at the end of the stream or before an error, which
  // each later call throws. Errors are kDataLoss, kResourceLimit or kIo with the file and the byte
  // in it: the stream is damaged, ends early, or something else follows it (only frames of its kind
  // may, and zeros to the end of the file after gzip). A request to stop is thrown as kCancelled,
  // and nothing is read then; reading can go on after it. Content that was read before an error is
  // right, with one exception: whether a frame of kReadBlockBytes or more is right is known only at
  // its end.
  size_t Read(char* out, size_t size);
  // The same, but of a plain file that can be read once only at least one byte is enough: what its
  // writer, which may fall silent, has written within a moment (OnePassStream::ReadSome). 0 is the
  // end.
  size_t ReadSome(char* out, size_t size);
  // How many bytes were read so far.
  uint64_t position() const { return position_; }
  // The most bytes that can follow, whatever the file declares.
  uint64_t most_left() const;
  // Whether the file is not compressed or decoded and can be read at any place. Then any thread may
  // read any part of file().
  bool plain() const {
    return decompressor_ == nullptr && text_decoder_ == nullptr && file_ != nullptr;
  }
  bool compressed() const { return decompressor_ != nullptr; }
  // How; null if it is plain.
  const Compression* compression() const { return compression_; }
  bool can_be_read_once_only() const { return file_ == nullptr; }
  // There is none if it can be read once only.
  const File& file() const { return *file_; }
  const std::string& path() const;
  // The first bytes of a file that is not compressed and of which nothing was read yet: up to
  // `size`, fewer if it has no more.
  size_t Head(char* out, size_t size) const;
  // "byte 17", or "byte 17 of the decompressed content".
  std::string Describe(uint64_t position) const;

 private:
  class Decompressor;

  // The bytes of a text before it is decoded, or of anything else.
  size_t ReadBytes(char* out, size_t size);
  // Reads what is stored; fewer bytes only at the end.
  size_t ReadStored(uint64_t offset, char* out, size_t size) const;
  size_t ReadDecompressed(char* out, size_t size);
  void Decompress(const Compression& compression, uint64_t begin);

  const std::shared_ptr<OnePassStream> once_;  // one of these two is null
  const std::unique_ptr<const File> file_;
  std::unique_ptr<Decompressor> decompressor_;
  const Compression* compression_ = nullptr;  // of the decompressor
  std::unique_ptr<TextDecoder> text_decoder_;
  uint64_t position_ = 0;
  uint64_t bytes_read_ = 0;  // of a text before it is decoded; of anything else it is position_
  std::string given_back_;   // content that was read before a request to stop
  std::exception_ptr error_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_COMPRESSION_BYTE_STREAM_H_
