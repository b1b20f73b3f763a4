// SPDX-License-Identifier: Apache-2.0
#include "readers/chunks/line_source.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/io/one_pass.h"
#include "readers/chunks/stream_source.h"
#include "readers/support/line_ends.h"

namespace millhopper {
namespace {

[[noreturn]] void FailTooLong(const ByteStream& stream, uint64_t offset) {
  throw Error(ErrorCode::kResourceLimit, StrCat("the line at ", stream.Describe(offset),
                                                " is longer than ", kMaxLineBytes, " bytes"))
      .InFile(stream.path(), static_cast<int64_t>(offset));
}

// Lists a line of the chunk, from `begin` to `end`; it begins at byte `offset` of the text.
void AddLine(const ByteStream& stream, const LineFilter& filter, uint64_t offset, const char* begin,
             const char* end, Chunk* chunk) {
  std::string_view line(begin, static_cast<size_t>(end - begin));
  if (line.size() > kMaxLineBytes) FailTooLong(stream, offset);
  if (filter && !filter(&line, offset)) return;
  chunk->pieces.push_back({static_cast<uint32_t>(line.data() - chunk->bytes->data()),
                           static_cast<uint32_t>(line.size())});
}

// Chunks are stretches of the file of one size. A line is of the chunk that it begins in, so that
// Fetch reads beyond the chunk until the last line ends.
class PlainText final : public IndexableSource {
 public:
  PlainText(std::unique_ptr<ByteStream> stream, LoneCr lone_cr, LineFilter filter)
      : IndexableSource(std::move(stream)), lone_cr_(lone_cr), filter_(std::move(filter)) {}

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
  // Together they fill one block. Other values would move the chunks, which is a new version of
  // indexes (kVersion in chunk_index.cc).
  static constexpr size_t kReadBehind = size_t{8} << 10;
  static constexpr size_t kStretch = kReadBlockBytes - kReadBehind - kBufferAlignment;

  // Lists the lines. Returns the bytes that decide which they are: from the one before the chunk to
  // its end, or to the end of its last line, if that is later.
  std::string_view List(Chunk* chunk) const {
    // The byte before tells whether a line begins with the chunk.
    const uint64_t from = chunk->offset == 0 ? 0 : chunk->offset - 1;
    const uint64_t end = chunk->offset + chunk->length;
    size_t size = 0;  // of what is read
    const char* bytes = ReadOn(chunk, from, &size, end - from + kReadBehind);
    const char* line = bytes;
    LineEnds ends(bytes, bytes + size, lone_cr_);
    if (chunk->offset > 0) {
      const char* const before = ends.Find(bytes);
      // Otherwise the whole chunk is part of a line that began earlier.
      if (before >= bytes + chunk->length) return {bytes, static_cast<size_t>(end - from)};
      line = ends.From(bytes, true).next;
    }
    while (line < bytes + (end - from)) {
      const bool more = from + size < stream().file().size();
      const LineEnds::Line found = ends.From(line, !more);
      if (found.next == nullptr) {
        const auto at = static_cast<size_t>(line - bytes);
        if (size - at > kMaxLineBytes + 1) FailTooLong(stream(), from + at);  // even with a CR
        bytes = ReadOn(chunk, from, &size, 2 * size);
        line = bytes + at;
        ends = LineEnds(line, bytes + size, lone_cr_);
        continue;
      }
      AddLine(stream(), filter_, from + (line - bytes), line, found.end, chunk);
      line = found.next;
    }
    return {bytes, static_cast<size_t>(line - bytes)};
  }

  // Has the chunk hold `wanted` bytes of the file, or all that there are, from `from` on, of which
  // it holds *size; returns the first of them.
  const char* ReadOn(Chunk* chunk, uint64_t from, size_t* size, size_t wanted) const {
    wanted = std::min<uint64_t>(wanted, stream().file().size() - from);
    return chunk->Read(stream().file(), from, wanted, std::exchange(*size, wanted));
  }

  const LoneCr lone_cr_;
  const LineFilter filter_;
  uint64_t next_ = 0;
};

// Compressed text, and what can be read once only, is a stream: its chunks end after the last line
// end of a block.
class StreamedText final : public StreamSource {
 public:
  StreamedText(std::unique_ptr<ByteStream> stream, LoneCr lone_cr, LineFilter filter)
      : StreamSource(std::move(stream)), lone_cr_(lone_cr), filter_(std::move(filter)) {}

  void Fetch(Chunk* chunk) const override {
    const char* const begin = chunk->bytes->data() + chunk->lead();
    const char* const end = begin + chunk->length;
    LineEnds ends(begin, end, lone_cr_);
    for (const char* line = begin; line < end;) {
      const LineEnds::Line found = ends.From(line, true);
      AddLine(stream(), filter_, chunk->offset + (line - begin), line, found.end, chunk);
      line = found.next;
    }
  }

 private:
  size_t WholeRecords(const Block& block) const override {
    if (block.ended) return block.size;
    const size_t whole = EndOfWholeLines(block.bytes, block.size, block.seen, lone_cr_);
    if (whole == 0 && block.size > kMaxLineBytes + 1) {  // even with a CR
      FailTooLong(stream(), block.offset);
    }
    return whole;
  }

  const LoneCr lone_cr_;
  const LineFilter filter_;
};

}  // namespace

std::unique_ptr<IndexableSource> MakeLineSource(std::unique_ptr<ByteStream> stream, LoneCr lone_cr,
                                                LineFilter filter) {
  if (stream->plain()) {
    return std::make_unique<PlainText>(std::move(stream), lone_cr, std::move(filter));
  }
  return std::make_unique<StreamedText>(std::move(stream), lone_cr, std::move(filter));
}

bool IsBlank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

std::vector<std::string> SampledLines(const std::string& path, std::vector<uint64_t>* begins) {
  ByteStream stream(path);
  std::string text;
  std::vector<std::string> lines;
  for (bool more = true; more;) {
    more = AddToHead(&stream, &text);
    const char* const limit = text.data() + text.size();
    LineEnds ends(text.data(), limit, LoneCr::kEndsLine);
    for (const char* begin = text.data() + Utf8MarkBytes(text); begin < limit;) {
      const LineEnds::Line found = ends.From(begin, !more);
      if (found.next == nullptr) break;
      std::string line(begin, found.end);
      if (!IsBlank(line)) {
        lines.push_back(std::move(line));
        if (begins != nullptr) begins->push_back(static_cast<uint64_t>(begin - text.data()));
      }
      begin = found.next;
    }
    if (!lines.empty() || text.size() >= kMaxLineBytes) break;
  }
  for (const TextSample& sample : LaterSamples(stream, text.size())) {
    const char* const limit = sample.text.data() + sample.text.size();
    LineEnds ends(sample.text.data(), limit, LoneCr::kEndsLine);
    for (const char* begin = sample.text.data(); begin < limit;) {
      const LineEnds::Line found = ends.From(begin, true);
      std::string line(begin, found.end);
      if (!IsBlank(line)) {
        lines.push_back(std::move(line));
        if (begins != nullptr) {
          begins->push_back(sample.begin + static_cast<uint64_t>(begin - sample.text.data()));
        }
      }
      begin = found.next;
    }
  }
  return lines;
}

std::vector<TextSample> LaterStretches(const ByteStream& stream, uint64_t known) {
  constexpr uint64_t kSize = uint64_t{64} << 10;
  std::vector<TextSample> samples;
  if (!stream.plain() || stream.file().size() <= std::max(known, kSize)) return samples;
  const uint64_t size = stream.file().size();
  for (const uint64_t wanted : {size / 2 - kSize / 2, size - kSize}) {
    const uint64_t begin = std::max(wanted, known);
    TextSample sample{begin, std::string(std::min(kSize, size - begin), 0)};
    stream.file().Read(begin, sample.text.data(), sample.text.size());
    samples.push_back(std::move(sample));
  }
  return samples;
}

std::vector<TextSample> LaterSamples(const ByteStream& stream, uint64_t known) {
  std::vector<TextSample> samples;
  for (TextSample& sample : LaterStretches(stream, known)) {
    const bool is_end = sample.begin + sample.text.size() == stream.file().size();
    const size_t first = sample.text.find('\n');
    const size_t last = is_end ? sample.text.size() - 1 : sample.text.rfind('\n');
    if (first == std::string::npos || last <= first) continue;  // it is a part of one line
    sample.begin += first + 1;
    sample.text = sample.text.substr(first + 1, last - first);
    samples.push_back(std::move(sample));
  }
  return samples;
}

bool AddToHead(ByteStream* stream, std::string* text) {
  constexpr size_t kFirst = size_t{1} << 20;
  const size_t had = text->size();
  const size_t size = std::max(kFirst, 2 * had);
  text->resize(size);
  text->resize(had + stream->Read(text->data() + had, size - had));
  return text->size() == size;
}

std::string LineName(const std::string& path, uint64_t offset, LoneCr lone_cr,
                     const std::string* encoding) {
  try {
    if (CanBeReadOnceOnly(path)) return "";
    ByteStream stream(path);
    if (encoding != nullptr) stream.DecodeText(*encoding);
    std::vector<char> block(kReadBlockBytes);
    uint64_t line = 1;
    bool after_cr = false;  // that has been counted
    while (offset > 0) {
      const size_t size = stream.Read(block.data(), std::min<uint64_t>(block.size(), offset));
      if (size == 0) return "";
      const char* const limit = block.data() + size;
      LineEnds ends(block.data(), limit, lone_cr);
      const char* next = block.data() + (after_cr && block[0] == '\n' ? 1 : 0);
      for (; (next = ends.Find(next)) < limit; ++line) next = ends.From(next, true).next;
      after_cr = lone_cr == LoneCr::kEndsLine && limit[-1] == '\r';
      offset -= size;
    }
    return StrCat("line ", line);
  } catch (const Error& error) {
    if (error.interrupts()) throw;
    return "";
  }
}

}  // namespace millhopper
