// SPDX-License-Identifier: Apache-2.0
// The format `text`: a record is a line without its end (LF or CR LF), as bytes; an LF at the end
// of the file opens no further line.
#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/io/byte_stream.h"
#include "framework/reader/file_format.h"

namespace millhopper {
namespace {

[[noreturn]] void FailTooLong(const ByteStream& stream, uint64_t offset) {
  throw Error(ErrorCode::kResourceLimit, StrCat("the line at ", stream.Describe(offset),
                                                " is longer than ", kMaxLineBytes, " bytes"))
      .InFile(stream.path(), static_cast<int64_t>(offset));
}

// Lists a line of the chunk, from `begin` to `end`, where an LF follows if `ended`; it begins at
// byte `offset` of the text.
void AddLine(const ByteStream& stream, uint64_t offset, const char* begin, const char* end,
             bool ended, Chunk* chunk) {
  auto size = static_cast<size_t>(end - begin);
  if (ended && size > 0 && begin[size - 1] == '\r') --size;
  if (size > kMaxLineBytes) FailTooLong(stream, offset);
  chunk->pieces.push_back(
      {static_cast<uint32_t>(begin - chunk->bytes->data()), static_cast<uint32_t>(size)});
}

// Chunks are stretches of the file of one size. A line is of the chunk that it begins in, so that
// Fetch reads on behind the chunk until the last line ends.
class PlainText final : public FileSource {
 public:
  explicit PlainText(std::unique_ptr<ByteStream> stream) : stream_(std::move(stream)) {}

  bool Claim(Chunk* chunk) override {
    chunk->offset = next_;
    chunk->length = std::min<uint64_t>(kStretch, stream_->file().size() - next_);
    next_ += chunk->length;
    return chunk->length > 0;
  }

  void Fetch(Chunk* chunk) const override {
    // The byte before tells whether a line begins with the chunk.
    const uint64_t from = chunk->offset == 0 ? 0 : chunk->offset - 1;
    const uint64_t end = chunk->offset + chunk->length;
    size_t size = 0;  // of what is read
    const char* bytes = ReadOn(chunk, from, &size, end - from + kReadBehind);
    const char* line = bytes;
    if (chunk->offset > 0) {
      const void* before = std::memchr(bytes, '\n', chunk->length);
      if (before == nullptr) return;  // the whole chunk is part of a line that began earlier
      line = static_cast<const char*>(before) + 1;
    }
    while (line < bytes + (end - from)) {
      const size_t left = size - static_cast<size_t>(line - bytes);
      const void* found = std::memchr(line, '\n', left);
      const bool more = from + size < stream_->file().size();
      if (found == nullptr && more) {
        if (left > kMaxLineBytes + 1)
          FailTooLong(*stream_, from + (line - bytes));  // even with a CR
        const size_t at = static_cast<size_t>(line - bytes);
        bytes = ReadOn(chunk, from, &size, 2 * size);
        line = bytes + at;
        continue;
      }
      const char* const line_end = found == nullptr ? line + left : static_cast<const char*>(found);
      AddLine(*stream_, from + (line - bytes), line, line_end, found != nullptr, chunk);
      line = line_end + 1;
    }
  }

 private:
  // Together they fill one block.
  static constexpr size_t kReadBehind = size_t{8} << 10;
  static constexpr size_t kStretch = kReadBlockBytes - kReadBehind - kBufferAlignment;

  // Has the chunk hold `wanted` bytes of the file, or all that there are, from `from` on, of which
  // it holds *size; returns the first of them.
  const char* ReadOn(Chunk* chunk, uint64_t from, size_t* size, size_t wanted) const {
    wanted = std::min<uint64_t>(wanted, stream_->file().size() - from);
    return chunk->Read(stream_->file(), from, wanted, std::exchange(*size, wanted));
  }

  const std::unique_ptr<ByteStream> stream_;
  uint64_t next_ = 0;
};

// Compressed text is a stream: its chunks are cut, in order, behind the last line end of a block;
// what follows it begins the next chunk.
class CompressedText final : public FileSource {
 public:
  explicit CompressedText(std::unique_ptr<ByteStream> stream) : stream_(std::move(stream)) {}

  bool Claim(Chunk* chunk) override {
    size_t lines = 0;  // bytes of whole lines
    if (!ended_) {
      chunk->offset = stream_->position() - rest_.size();
      size_t size = rest_.size();
      // After a refusal of memory the call asks for the same size again, so that the chunks do not
      // depend on memory.
      Enlarge(chunk, 0, refused_ ? 2 * size : size);
      refused_ = false;
      std::memcpy(chunk->bytes->data() + chunk->lead(), rest_.data(), size);
      for (;;) {
        char* const bytes = chunk->bytes->data() + chunk->lead();
        const size_t got = Read(bytes + size, chunk->bytes->capacity() - chunk->lead() - size);
        const void* last = ::memrchr(bytes + size, '\n', got);
        size += got;
        if (last != nullptr) lines = static_cast<const char*>(last) - bytes + 1;
        if (lines > 0 || ended_) break;
        if (size > kMaxLineBytes + 1) FailTooLong(*stream_, chunk->offset);  // not even with a CR
        try {
          Enlarge(chunk, size, size);
        } catch (const Error&) {  // a stream cannot be read again, so the bytes are kept
          rest_.assign(bytes, size);
          refused_ = true;
          throw;
        }
      }
      if (ended_ && error_ == nullptr) lines = size;
      rest_.assign(chunk->bytes->data() + chunk->lead() + lines, size - lines);
    }
    // After an error the end of the last line is unknown, so that line is dropped.
    if (lines == 0 && error_ != nullptr) std::rethrow_exception(error_);
    chunk->length = lines;
    return lines > 0;
  }

  void Fetch(Chunk* chunk) const override {
    const char* const begin = chunk->bytes->data() + chunk->lead();
    const char* const end = begin + chunk->length;
    for (const char* line = begin; line < end;) {
      const void* found = std::memchr(line, '\n', end - line);
      const char* const next = found == nullptr ? end : static_cast<const char*>(found) + 1;
      AddLine(*stream_, chunk->offset + (line - begin), line, found == nullptr ? end : next - 1,
              found != nullptr, chunk);
      line = next;
    }
  }

 private:
  // Makes room for another block behind the chunk's first `used` bytes, and for `at_least` more.
  void Enlarge(Chunk* chunk, size_t used, size_t at_least) const {
    // One byte more than can be left, so that the read reaches the end.
    const size_t block = std::min<uint64_t>(kReadBlockBytes, stream_->most_left() + 1);
    Ref<Buffer> larger = BufferPool::At(Place()).Take(chunk->lead() + used + at_least + block);
    if (used > 0) std::memcpy(larger->data(), chunk->bytes->data(), chunk->lead() + used);
    chunk->bytes = std::move(larger);
  }

  // Sets ended_ at the end, and at an error also error_.
  size_t Read(char* out, size_t size) {
    size_t got = 0;
    try {
      got = stream_->Read(out, size);
      char next;
      ended_ = got < size && stream_->Read(&next, 1) == 0;
    } catch (const Error&) {
      error_ = std::current_exception();
      ended_ = true;
    }
    return got;
  }

  const std::unique_ptr<ByteStream> stream_;
  std::string rest_;      // the beginning of a line whose end is not read yet
  bool refused_ = false;  // whether memory for more of it was refused
  bool ended_ = false;
  std::exception_ptr error_;  // comes after the bytes read so far
};

SlotSpec LineSlot() {
  SlotSpec slot;
  slot.dtype = DataType::kUint8;
  slot.dims = Dims{-1};
  slot.lod_level = 1;
  return slot;
}

class TextFormat final : public FileFormat {
 public:
  explicit TextFormat(const FormatArguments& arguments)
      : FileFormat(AgreeOnSlots(arguments.declared, {LineSlot()})) {}

  std::unique_ptr<FileSource> Open(const FileEntry& file) override {
    auto stream = std::make_unique<ByteStream>(file.path, file.buffer_type);
    if (stream->plain()) return std::make_unique<PlainText>(std::move(stream));
    return std::make_unique<CompressedText>(std::move(stream));
  }

  void Load(const Ticket* tickets, size_t n, Rows* rows) const override {
    for (size_t i = 0; i < n; ++i) {
      const uint64_t offsets[] = {0, tickets[i].size};
      const LodLevelView level(offsets, 2);
      char* out = rows->Append(0, DataType::kUint8, Dims{tickets[i].size}, &level, 1);
      std::memcpy(out, tickets[i].bytes, tickets[i].size);
    }
  }
};

FormatSchema Schema() {
  return FormatSchema("lines of text as bytes, without their ends; plain, gzip, zstd, lz4")
      .Extension(".txt");
}

std::unique_ptr<FileFormat> Make(const FormatArguments& arguments) {
  return std::make_unique<TextFormat>(arguments);
}

}  // namespace

REGISTER_FILE_FORMAT(text, Schema, Make);

}  // namespace millhopper
