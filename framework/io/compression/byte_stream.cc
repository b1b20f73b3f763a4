// SPDX-License-Identifier: Apache-2.0
#include "framework/io/compression/byte_stream.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/stop.h"
#include "framework/io/compression/compression.h"
#include "framework/io/compression/text_decoder.h"
#include "framework/io/one_pass.h"

namespace millhopper {
namespace {

// The size of a file of unknown size: more than any file has, and so little that two do not
// overflow.
constexpr uint64_t kUnknownSize = uint64_t{1} << 62;

constexpr size_t kInputBytes = size_t{256} << 10;  // one read of a compressed file

// The most bytes of content that `bytes` of a compressed file can give.
uint64_t MostContent(const Compression& compression, uint64_t bytes) {
  uint64_t most;
  const bool overflow = __builtin_mul_overflow(bytes, compression.most_expansion, &most) ||
                        __builtin_add_overflow(most, compression.most_held_back, &most);
  return overflow ? UINT64_MAX / 2 : most;
}

// Memory that is not cleared: most files are far shorter, and never touch most of its pages.
class Block {
 public:
  explicit Block(size_t size) : size_(size), data_(new char[size]) {}

  size_t size() const { return size_; }
  char* data() const { return data_.get(); }

 private:
  const size_t size_;
  const std::unique_ptr<char[]> data_;
};

}  // namespace

// The content of all frames. The checksum of a frame follows its content, so some content is held
// back: a frame that fits into content_ is checked before any of it is given out.
class ByteStream::Decompressor {
 public:
  // A file of `size` bytes, or of kUnknownSize; its content begins at `begin`.
  Decompressor(std::string path, ReadAt read, uint64_t size, const Compression& compression,
               uint64_t begin)
      : path_(std::move(path)),
        read_at_(std::move(read)),
        size_(size),
        compression_(compression),
        decoder_(compression.make()),
        input_(std::min<uint64_t>(kInputBytes, size - begin)),
        read_(begin),
        content_(std::min<uint64_t>(kReadBlockBytes, MostContent(compression, size - begin))) {}

  // Adds the number of bytes that it has read to *got, also if it throws.
  void Read(char* out, size_t size, size_t* got) {
    while (size > 0 && (begin_ < given_ || Fill())) {
      const size_t taken = std::min(size, given_ - begin_);
      std::memcpy(out, content_.data() + begin_, taken);
      begin_ += taken;
      out += taken;
      size -= taken;
      *got += taken;
    }
  }

  // The most bytes that can follow.
  uint64_t most_left() const { return end_ - begin_ + MostContent(compression_, size_ - place()); }

 private:
  // Gets the next bytes; false at the end of the file.
  bool Fill() {
    if (error_ != nullptr) std::rethrow_exception(error_);
    std::memmove(content_.data(), content_.data() + given_, end_ - given_);
    end_ -= given_;
    right_ -= std::min(right_, given_);  // a call that was stopped may have finished frames
    begin_ = given_ = 0;
    try {
      while (end_ < content_.size() && (in_frame_ || BeginFrame())) {
        CheckStop();  // frames may have no content at all
        Decode();
      }
      // The beginning of an unfinished frame is held back, unless it fills all of content_.
      given_ = in_frame_ && right_ > 0 ? right_ : end_;
    } catch (const Error& error) {
      if (error.interrupts()) throw;  // what was read is kept
      error_ = std::current_exception();
      given_ = end_ = right_;  // drops the unfinished frame, which may be wrong
      if (end_ == 0) throw;
    }
    return given_ > 0;
  }

  void Decode() {
    FrameDecoder::Buffers buffers = {input_.data() + used_, filled_ - used_, content_.data() + end_,
                                     content_.size() - end_};
    const size_t room = buffers.out_size;
    bool ended = false;
    try {
      ended = decoder_->Decode(&buffers);
    } catch (const Error& error) {
      used_ = filled_ - buffers.in_size;
      Fail(error.code(), StrCat("damaged ", compression_.name, " stream at byte ", place(), ": ",
                                error.message()));
    }
    const bool moved = buffers.out_size < room || buffers.in_size < filled_ - used_;
    used_ = filled_ - buffers.in_size;
    end_ = content_.size() - buffers.out_size;
    if (ended) {
      in_frame_ = false;
      right_ = end_;
    } else if (!moved && !Refill()) {
      FailCutOff();
    }
  }

  // Reads more of the file after what is left of the input; false at the end of the file.
  bool Refill() {
    std::memmove(input_.data(), input_.data() + used_, filled_ - used_);
    filled_ -= used_;
    used_ = 0;
    const size_t room = std::min<uint64_t>(input_.size() - filled_, size_ - read_);
    const size_t size = read_at_(read_, input_.data() + filled_, room);
    read_ += size;
    filled_ += size;
    return size > 0;
  }

  // False at the end of the file.
  bool BeginFrame() {
    if (compression_.ends_in_zeros) SkipZeros();
    while (filled_ - used_ < compression_.head_bytes && Refill()) continue;
    const size_t size = std::min(filled_ - used_, compression_.head_bytes);
    if (size == 0) return false;
    if (padded_ || !compression_.begins(input_.data() + used_, size)) {
      Fail(ErrorCode::kDataLoss, StrCat("what follows the ", compression_.name, " stream at byte ",
                                        place(), " is not ", compression_.name));
    }
    if (size < compression_.head_bytes) FailCutOff();
    decoder_->Begin();
    in_frame_ = true;
    return true;
  }

  void SkipZeros() {
    do {
      CheckStop();
      const char* const begin = input_.data() + used_;
      const char* const end = input_.data() + filled_;
      const char* const other = std::find_if(begin, end, [](char byte) { return byte != 0; });
      used_ += static_cast<size_t>(other - begin);
      padded_ = padded_ || other > begin;
      if (other < end) return;
    } while (Refill());
  }

  // The next byte of the file that will be looked at.
  uint64_t place() const { return read_ - (filled_ - used_); }

  [[noreturn]] void FailCutOff() {
    used_ = filled_;
    Fail(ErrorCode::kDataLoss, StrCat("the file ends at byte ", read_, " in the middle of its ",
                                      compression_.name, " stream"));
  }

  [[noreturn]] void Fail(ErrorCode code, const std::string& problem) {
    throw Error(code, problem).InFile(path_, static_cast<int64_t>(place()));
  }

  const std::string path_;
  const ReadAt read_at_;
  const uint64_t size_;
  const Compression& compression_;
  const std::unique_ptr<FrameDecoder> decoder_;
  Block input_;
  size_t used_ = 0;    // bytes of input_ that the decoder has taken
  size_t filled_ = 0;  // bytes of input_ that are read from the file
  uint64_t read_;      // where in the file the next read begins
  bool in_frame_ = false;
  bool padded_ = false;
  Block content_;
  size_t begin_ = 0;          // where the content begins that may be given out,
  size_t given_ = 0;          // and where it ends
  size_t end_ = 0;            // where all content ends
  size_t right_ = 0;          // where the content of finished frames ends
  std::exception_ptr error_;  // what follows that content
};

ByteStream::ByteStream(const std::string& path, BufferType buffer_type)
    : once_(OnePassFiles::Open(path)),
      file_(once_ == nullptr ? File::Open(path, buffer_type) : nullptr) {
  const auto refuse_mapping = [&](const std::string& what) {
    if (buffer_type != BufferType::kMmap) return;
    throw Error(ErrorCode::kInvalidArgument,
                StrCat("the file ", what,
                       ", and buffer_type \"mmap\" is for plain ones; read it with \"memory\""))
        .InFile(path, 0);
  };
  if (once_ != nullptr) refuse_mapping("can be read once only");
  const ReadAt head = [this](uint64_t offset, char* out, size_t size) {
    if (once_ == nullptr) return ReadStored(offset, out, size);
    // An error comes after what precedes it. What is looked at is kept, so it is not much.
    return offset > kReadBlockBytes ? 0 : once_->Look(offset, out, once_->Has(offset, size));
  };
  if (const Compression* const compression = CompressionOf(path, head)) {
    refuse_mapping(StrCat("is compressed with ", compression->name));
    Decompress(*compression, 0);
  } else if (const Compression* const named = CompressionByName(path)) {
    char first;
    throw Error(
        ErrorCode::kDataLoss,
        StrCat("its name ends in ", named->extension,
               head(0, &first, 1) == 0 ? ", but it is empty, as if it was cut off"
                                       : StrCat(", but the bytes at byte 0 are not the first of a ",
                                                named->name, " stream")))
        .InFile(path, 0);
  }
}

ByteStream::ByteStream(const std::string& path, const Compression& compression)
    : once_(OnePassFiles::Open(path)), file_(once_ == nullptr ? File::Open(path) : nullptr) {
  Decompress(compression, 0);
}

ByteStream::ByteStream(std::unique_ptr<const File> file, uint64_t begin,
                       const Compression* compression)
    : file_(std::move(file)) {
  if (compression == nullptr) {
    position_ = bytes_read_ = begin;
  } else {
    Decompress(*compression, begin);
  }
}

ByteStream::~ByteStream() = default;

const std::string& ByteStream::path() const {
  return once_ == nullptr ? file_->path() : once_->path();
}

void ByteStream::Decompress(const Compression& compression, uint64_t begin) {
  compression_ = &compression;
  decompressor_ = std::make_unique<Decompressor>(
      path(),
      [this](uint64_t offset, char* out, size_t size) { return ReadStored(offset, out, size); },
      once_ == nullptr ? file_->size() : kUnknownSize, compression, begin);
}

size_t ByteStream::ReadStored(uint64_t offset, char* out, size_t size) const {
  if (once_ != nullptr) return once_->Read(offset, out, size);
  if (offset >= file_->size()) return 0;
  const size_t got = std::min<uint64_t>(size, file_->size() - offset);
  file_->Read(offset, out, got);
  return got;
}

size_t ByteStream::Head(char* out, size_t size) const {
  return once_ == nullptr ? ReadStored(0, out, size) : once_->Look(0, out, once_->Has(0, size));
}

void ByteStream::DecodeText(const std::string& encoding) {
  std::string name = encoding;
  if (encoding.empty() || IsUtf8Name(encoding)) {
    constexpr struct {
      std::string_view mark;
      const char* encoding;
    } kMarks[] = {{{"\xff\xfe\0\0", 4}, "UTF-32LE"},
                  {{"\0\0\xfe\xff", 4}, "UTF-32BE"},
                  {{"\xff\xfe", 2}, "UTF-16LE"},
                  {{"\xfe\xff", 2}, "UTF-16BE"}};
    char head[4];
    size_t size = 0;
    if (compressed()) {
      size = ReadDecompressed(head, sizeof(head));
      given_back_.insert(0, head, size);
    } else {
      size = Head(head, sizeof(head));
    }
    const std::string_view begin(head, size);
    const auto* const found = std::find_if(
        std::begin(kMarks), std::end(kMarks),
        [&](const auto& known) { return begin.substr(0, known.mark.size()) == known.mark; });
    if (found == std::end(kMarks)) return;
    name = found->encoding;
  }
  text_decoder_ = std::make_unique<TextDecoder>(
      path(), name, [this](char* out, size_t size) { return ReadBytes(out, size); });
}

size_t ByteStream::Read(char* out, size_t size) {
  const size_t got =
      text_decoder_ == nullptr ? ReadBytes(out, size) : text_decoder_->Read(out, size);
  position_ += got;
  return got;
}

size_t ByteStream::ReadBytes(char* out, size_t size) {
  if (error_ != nullptr) std::rethrow_exception(error_);
  const size_t got =
      compressed() ? ReadDecompressed(out, size) : ReadStored(bytes_read_, out, size);
  bytes_read_ += got;
  return got;
}

size_t ByteStream::ReadSome(char* out, size_t size) {
  if (once_ == nullptr || compressed() || text_decoder_ != nullptr) return Read(out, size);
  const size_t got = once_->ReadSome(bytes_read_, out, size);
  position_ += got;
  bytes_read_ += got;
  return got;
}

size_t ByteStream::ReadDecompressed(char* out, size_t size) {
  size_t got = given_back_.copy(out, size);
  given_back_.erase(0, got);
  try {
    decompressor_->Read(out + got, size - got, &got);
  } catch (...) {
    // A request to stop is no fault of the file: reading can go on after it.
    if (CurrentError().interrupts()) {
      given_back_.insert(0, out, got);
      throw;
    }
    error_ = std::current_exception();
    if (got == 0) throw;
  }
  return got;
}

uint64_t ByteStream::most_left() const {
  const uint64_t bytes = compressed()
                             ? given_back_.size() + decompressor_->most_left()
                             : (once_ == nullptr ? file_->size() : kUnknownSize) - bytes_read_;
  if (text_decoder_ == nullptr) return bytes;
  constexpr uint64_t kMostOfByte = 4;  // bytes of UTF-8
  return kMostOfByte * (std::min(bytes, kUnknownSize / kMostOfByte) + text_decoder_->held_back());
}

std::string ByteStream::Describe(uint64_t position) const {
  return StrCat("byte ", position,
                text_decoder_ != nullptr ? " of the text in UTF-8"
                : compressed()           ? " of the decompressed content"
                                         : "");
}

}  // namespace millhopper
