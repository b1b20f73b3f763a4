// SPDX-License-Identifier: Apache-2.0
#include "readers/line_source.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/io/one_pass.h"
#include "readers/stream_source.h"

namespace millhopper {
namespace {

[[noreturn]] void FailTooLong(const ByteStream& stream, uint64_t offset) {
  throw Error(ErrorCode::kResourceLimit, StrCat("the line at ", stream.Describe(offset),
                                                " is longer than ", kMaxLineBytes, " bytes"))
      .InFile(stream.path(), static_cast<int64_t>(offset));
}

// Lists a line of the chunk, from `begin` to `end`, where an LF follows if `ended`; it begins at
// byte `offset` of the text.
void AddLine(const ByteStream& stream, const LineFilter& filter, uint64_t offset, const char* begin,
             const char* end, bool ended, Chunk* chunk) {
  std::string_view line(begin, static_cast<size_t>(end - begin));
  if (ended && !line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (line.size() > kMaxLineBytes) FailTooLong(stream, offset);
  if (filter && !filter(&line, offset)) return;
  chunk->pieces.push_back({static_cast<uint32_t>(line.data() - chunk->bytes->data()),
                           static_cast<uint32_t>(line.size())});
}

// Chunks are stretches of the file of one size. A line is of the chunk that it begins in, so that
// Fetch reads on behind the chunk until the last line ends.
class PlainText final : public IndexableSource {
 public:
  PlainText(std::unique_ptr<ByteStream> stream, LineFilter filter)
      : IndexableSource(std::move(stream)), filter_(std::move(filter)) {}

  bool Claim(Chunk* chunk) override {
    chunk->offset = next_;
    chunk->length = std::min<uint64_t>(kStretch, stream().file().size() - next_);
    next_ += chunk->length;
    return chunk->length > 0;
  }

  bool Seek(uint64_t offset, std::optional<uint64_t>) override {
    if (offset % kStretch != 0 || offset >= stream().file().size()) return false;
    next_ = offset;
    return true;
  }

  void Fetch(Chunk* chunk) const override { List(chunk); }

  void FetchChecked(Chunk* chunk, const CheckSum& check) const override {
    const std::string_view bytes = List(chunk);
    check(XXH3_64bits(bytes.data(), bytes.size()));
  }

 private:
  // Together they fill one block. With others the chunks begin elsewhere, and indexes are of
  // another version (kVersion in chunk_index.cc).
  static constexpr size_t kReadBehind = size_t{8} << 10;
  static constexpr size_t kStretch = kReadBlockBytes - kReadBehind - kBufferAlignment;

  // Lists the lines. Returns the bytes that decide which they are: from the one before the chunk to
  // its end, or to the end of its last line, if that lies behind.
  std::string_view List(Chunk* chunk) const {
    // The byte before tells whether a line begins with the chunk.
    const uint64_t from = chunk->offset == 0 ? 0 : chunk->offset - 1;
    const uint64_t end = chunk->offset + chunk->length;
    size_t size = 0;  // of what is read
    const char* bytes = ReadOn(chunk, from, &size, end - from + kReadBehind);
    const char* line = bytes;
    if (chunk->offset > 0) {
      const void* before = std::memchr(bytes, '\n', chunk->length);
      // Otherwise the whole chunk is part of a line that began earlier.
      if (before == nullptr) return {bytes, static_cast<size_t>(end - from)};
      line = static_cast<const char*>(before) + 1;
    }
    while (line < bytes + (end - from)) {
      const size_t left = size - static_cast<size_t>(line - bytes);
      const void* found = std::memchr(line, '\n', left);
      const bool more = from + size < stream().file().size();
      if (found == nullptr && more) {
        if (left > kMaxLineBytes + 1)
          FailTooLong(stream(), from + (line - bytes));  // even with a CR
        const size_t at = static_cast<size_t>(line - bytes);
        bytes = ReadOn(chunk, from, &size, 2 * size);
        line = bytes + at;
        continue;
      }
      const char* const line_end = found == nullptr ? line + left : static_cast<const char*>(found);
      AddLine(stream(), filter_, from + (line - bytes), line, line_end, found != nullptr, chunk);
      line = line_end + 1;
    }
    // The last line of a file may have no end.
    return {bytes, std::min(size, static_cast<size_t>(line - bytes))};
  }

  // Has the chunk hold `wanted` bytes of the file, or all that there are, from `from` on, of which
  // it holds *size; returns the first of them.
  const char* ReadOn(Chunk* chunk, uint64_t from, size_t* size, size_t wanted) const {
    wanted = std::min<uint64_t>(wanted, stream().file().size() - from);
    return chunk->Read(stream().file(), from, wanted, std::exchange(*size, wanted));
  }

  const LineFilter filter_;
  uint64_t next_ = 0;
};

// Compressed text, and what can be read once only, is a stream: its chunks end after the last line
// end of a block.
class StreamedText final : public StreamSource {
 public:
  StreamedText(std::unique_ptr<ByteStream> stream, LineFilter filter)
      : StreamSource(std::move(stream)), filter_(std::move(filter)) {}

  void Fetch(Chunk* chunk) const override {
    const char* const begin = chunk->bytes->data() + chunk->lead();
    const char* const end = begin + chunk->length;
    for (const char* line = begin; line < end;) {
      const void* found = std::memchr(line, '\n', end - line);
      const char* const next = found == nullptr ? end : static_cast<const char*>(found) + 1;
      AddLine(stream(), filter_, chunk->offset + (line - begin), line,
              found == nullptr ? end : next - 1, found != nullptr, chunk);
      line = next;
    }
  }

 private:
  size_t WholeRecords(const Block& block) const override {
    if (block.ended) return block.size;
    const void* last = ::memrchr(block.bytes + block.seen, '\n', block.size - block.seen);
    if (last != nullptr) return static_cast<const char*>(last) - block.bytes + 1;
    if (block.size > kMaxLineBytes + 1) FailTooLong(stream(), block.offset);  // even with a CR
    return 0;
  }

  const LineFilter filter_;
};

}  // namespace

std::unique_ptr<IndexableSource> MakeLineSource(std::unique_ptr<ByteStream> stream,
                                                LineFilter filter) {
  if (stream->plain()) return std::make_unique<PlainText>(std::move(stream), std::move(filter));
  return std::make_unique<StreamedText>(std::move(stream), std::move(filter));
}

size_t Utf8MarkBytes(std::string_view text) { return text.substr(0, 3) == "\xef\xbb\xbf" ? 3 : 0; }

bool IsBlank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

std::vector<std::string> FirstLines(const std::string& path, std::vector<uint64_t>* begins) {
  ByteStream stream(path);
  std::string text;
  std::vector<std::string> lines;
  for (bool more = true; more;) {
    more = AddToHead(&stream, &text);
    for (size_t begin = Utf8MarkBytes(text); begin < text.size();) {
      const size_t end = text.find('\n', begin);
      if (end == std::string::npos && more) break;
      std::string line = text.substr(begin, end - begin);
      if (!line.empty() && line.back() == '\r') line.pop_back();
      if (!IsBlank(line)) {
        lines.push_back(std::move(line));
        if (begins != nullptr) begins->push_back(begin);
      }
      begin = end == std::string::npos ? text.size() : end + 1;
    }
    if (!lines.empty() || text.size() >= kMaxLineBytes) break;
  }
  return lines;
}

bool AddToHead(ByteStream* stream, std::string* text) {
  constexpr size_t kFirst = size_t{64} << 10;
  const size_t had = text->size();
  const size_t size = std::max(kFirst, 2 * had);
  text->resize(size);
  text->resize(had + stream->Read(text->data() + had, size - had));
  return text->size() == size;
}

std::string LineName(const std::string& path, uint64_t offset) {
  try {
    if (CanBeReadOnceOnly(path)) return "";
    ByteStream stream(path);
    std::vector<char> block(kReadBlockBytes);
    uint64_t line = 1;
    while (offset > 0) {
      const size_t size = stream.Read(block.data(), std::min<uint64_t>(block.size(), offset));
      if (size == 0) return "";
      line += static_cast<uint64_t>(std::count(block.begin(), block.begin() + size, '\n'));
      offset -= size;
    }
    return StrCat("line ", line);
  } catch (const Error& error) {
    if (error.interrupts()) throw;
    return "";
  }
}

}  // namespace millhopper
