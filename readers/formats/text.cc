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

// Chunks are cut behind the last line end of a block; what follows it begins the next chunk.
class TextSource final : public FileSource {
 public:
  explicit TextSource(const std::string& path) : stream_(path) {}

  bool Claim(Chunk* chunk) override {
    size_t lines = 0;  // bytes of whole lines
    if (!ended_) {
      chunk->offset = stream_.position() - rest_.size();
      size_t size = rest_.size();
      // A call that was refused memory goes on with what it has asked for, so that chunks are the
      // same wherever memory was short.
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
        if (size > kMaxLineBytes + 1) FailTooLong(chunk->offset);  // not even with a CR
        try {
          Enlarge(chunk, size, size);
        } catch (const Error&) {  // what is read is not read again
          rest_.assign(bytes, size);
          refused_ = true;
          throw;
        }
      }
      if (ended_ && error_ == nullptr) lines = size;
      rest_.assign(chunk->bytes->data() + chunk->lead() + lines, size - lines);
    }
    // Behind an error nobody knows where the last line would have ended.
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
      size_t size = next - line;
      if (found != nullptr) {
        --size;
        if (size > 0 && line[size - 1] == '\r') --size;
      }
      if (size > kMaxLineBytes) FailTooLong(chunk->offset + (line - begin));
      chunk->pieces.push_back(
          {static_cast<uint32_t>(line - chunk->bytes->data()), static_cast<uint32_t>(size)});
      line = next;
    }
  }

 private:
  // Makes room for another block behind the chunk's first `used` bytes, and for `at_least` more.
  void Enlarge(Chunk* chunk, size_t used, size_t at_least) const {
    // One byte more than there can be, so that reading meets the end.
    const size_t block = std::min<uint64_t>(kReadBlockBytes, stream_.most_left() + 1);
    Ref<Buffer> larger = BufferPool::At(Place()).Take(chunk->lead() + used + at_least + block);
    if (used > 0) std::memcpy(larger->data(), chunk->bytes->data(), chunk->lead() + used);
    chunk->bytes = std::move(larger);
  }

  // Sets ended_, and error_ if the end is none.
  size_t Read(char* out, size_t size) {
    size_t got = 0;
    try {
      got = stream_.Read(out, size);
      char next;
      ended_ = got < size && stream_.Read(&next, 1) == 0;
    } catch (const Error&) {
      error_ = std::current_exception();
      ended_ = true;
    }
    return got;
  }

  [[noreturn]] void FailTooLong(uint64_t offset) const {
    throw Error(ErrorCode::kResourceLimit, StrCat("the line at ", stream_.Describe(offset),
                                                  " is longer than ", kMaxLineBytes, " bytes"))
        .InFile(stream_.path(), static_cast<int64_t>(offset));
  }

  ByteStream stream_;
  std::string rest_;      // the beginning of a line whose end is not read yet
  bool refused_ = false;  // memory for more of it
  bool ended_ = false;
  std::exception_ptr error_;  // behind what has been read
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
    return std::make_unique<TextSource>(file.path);
  }

  void Load(const Ticket* tickets, size_t n, Rows* rows) const override {
    for (size_t i = 0; i < n; ++i) {
      const uint64_t offsets[] = {0, tickets[i].size};
      const LodLevelView level{reinterpret_cast<const char*>(offsets), 2};
      char* out = rows->Append(0, DataType::kUint8, Dims{tickets[i].size}, &level, 1);
      std::memcpy(out, tickets[i].where, tickets[i].size);
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
