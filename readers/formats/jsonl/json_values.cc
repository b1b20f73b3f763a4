// SPDX-License-Identifier: Apache-2.0
#include "readers/formats/jsonl/json_values.h"

#include <algorithm>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "readers/chunks/line_source.h"
#include "readers/chunks/stream_source.h"
#include "readers/fields/json_text.h"
#include "readers/support/line_ends.h"

namespace millhopper {
namespace {

bool IsJsonBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Goes through the values of a stretch of text, which begins where the text does or before a value.
class ValueWalk {
 public:
  ValueWalk(std::string_view text, bool is_list, bool is_beginning)
      : here_(text.data()), end_(text.data() + text.size()), is_list_(is_list) {
    if (is_beginning) here_ += Utf8MarkBytes(text);
    is_opened_ = !is_list || !is_beginning;
  }

  // Sets *value to the next one; false at the end of the stretch. Throws kDataLoss for what is no
  // JSON, or goes beyond the stretch; then here() is where it begins.
  bool Next(std::string_view* value) {
    PassBlanks();
    if (!is_opened_) Open();
    if (here_ < end_ && is_list_ && !is_closed_ && is_first_ && *here_ == ']') Close();
    if (is_closed_ && here_ < end_) Throw(ErrorCode::kDataLoss, "something follows the list");
    if (here_ == end_) return false;
    const JsonText text(std::string_view(here_, static_cast<size_t>(end_ - here_)));
    const char* const stop = text.Skip(here_);
    const char* const begin = std::exchange(here_, stop);
    *value = std::string_view(begin, static_cast<size_t>(stop - begin));
    is_first_ = false;
    if (is_list_) PassComma();
    return true;
  }

  // Where the next value is looked for: after the comma of the one before.
  const char* here() const { return here_; }
  // Where the last value ended, before its comma.
  const char* value_end() const { return value_end_; }
  // Whether the list ends in this stretch, or a value and a comma do.
  bool is_closed() const { return is_closed_; }
  bool ends_in_comma() const { return ends_in_comma_; }

 private:
  void PassBlanks() {
    while (here_ < end_ && IsJsonBlank(*here_)) ++here_;
  }

  void Open() {
    if (here_ == end_ || *here_ != '[') Throw(ErrorCode::kDataLoss, "a list begins with [");
    ++here_;
    is_opened_ = true;
    PassBlanks();
  }

  void Close() {
    ++here_;
    is_closed_ = true;
    PassBlanks();
  }

  void PassComma() {
    value_end_ = here_;
    PassBlanks();
    ends_in_comma_ = here_ < end_ && *here_ == ',';
    if (ends_in_comma_) {
      ++here_;
    } else if (here_ < end_ && *here_ == ']') {
      Close();
    } else if (here_ < end_) {
      Throw(ErrorCode::kDataLoss, "a comma or ] is missing before it");
    }
  }

  const char* here_;
  const char* const end_;
  const char* value_end_ = nullptr;
  const bool is_list_;
  bool is_opened_ = true;
  bool is_first_ = true;
  bool is_closed_ = false;
  bool ends_in_comma_ = false;
};

[[noreturn]] void Fail(const ByteStream& stream, uint64_t offset, const std::string& problem,
                       ErrorCode code = ErrorCode::kDataLoss) {
  const std::string line = LineName(stream.path(), offset, LoneCr::kEndsLine);
  throw Error(code, StrCat("the value of JSON at ", stream.Describe(offset),
                           line.empty() ? "" : StrCat(" (", line, ")"), " ", problem))
      .InFile(stream.path(), static_cast<int64_t>(offset));
}

class JsonValueSource final : public StreamSource {
 public:
  JsonValueSource(std::unique_ptr<ByteStream> stream, bool is_list,
                  std::function<bool(std::string_view value)> is_record)
      : StreamSource(std::move(stream)), is_list_(is_list), is_record_(std::move(is_record)) {}

  void Fetch(Chunk* chunk) const override {
    const char* const begin = chunk->bytes->data() + chunk->lead();
    ValueWalk walk({begin, static_cast<size_t>(chunk->length)}, is_list_, chunk->offset == 0);
    const auto offset = [&] { return chunk->offset + static_cast<uint64_t>(walk.here() - begin); };
    try {
      for (std::string_view value; walk.Next(&value);) {
        if (value.size() > kMaxLineBytes) {
          Throw(ErrorCode::kResourceLimit, "is longer than ", kMaxLineBytes, " bytes");
        }
        if (is_record_ && !is_record_(value)) continue;
        chunk->pieces.push_back({static_cast<uint32_t>(value.data() - chunk->bytes->data()),
                                 static_cast<uint32_t>(value.size())});
      }
    } catch (const Error& error) {
      if (error.interrupts()) throw;
      const bool is_long = error.code() == ErrorCode::kResourceLimit;
      Fail(stream(), offset(), StrCat(is_long ? "" : "is none: ", error.message()), error.code());
    }
    if (is_list_ && !walk.is_closed() && !walk.ends_in_comma()) {
      Fail(stream(), offset(), "is missing: no ] ends the list");
    }
  }

 private:
  // Chunks of a list end after a comma, so that each begins before a value, and the last one with
  // the list. What is wrong is left to Fetch, which gives out the values before it.
  size_t WholeRecords(const Block& block) const override {
    ValueWalk walk({block.bytes, block.size}, is_list_, block.offset == 0);
    size_t whole = 0, value_end = 0;
    try {
      for (std::string_view value; walk.Next(&value);) {
        const char* const end = is_list_ ? walk.here() : value.data() + value.size();
        // A number may go on, and a comma may be the last byte there is, after which no list ends.
        const bool is_whole = end < block.bytes + block.size && !walk.is_closed() &&
                              (!is_list_ || walk.ends_in_comma());
        if (is_whole) whole = static_cast<size_t>(end - block.bytes);
        if (is_list_) value_end = static_cast<size_t>(walk.value_end() - block.bytes);
      }
      // Without its comma the last value of a list that is not closed is known to be that.
      if (block.ended && is_list_ && !walk.is_closed() && walk.ends_in_comma()) return value_end;
    } catch (const Error& error) {
      if (error.interrupts()) throw;
    }
    if (block.ended) return block.size;
    if (whole == 0 && block.size > kMaxLineBytes) {
      Fail(stream(), block.offset, StrCat("is longer than ", kMaxLineBytes, " bytes, or none"),
           ErrorCode::kResourceLimit);
    }
    return whole;
  }

  const bool is_list_;
  const std::function<bool(std::string_view value)> is_record_;
};

// What a text begins with, after blanks; 0 if there is nothing.
char FirstOf(std::string_view text) {
  text.remove_prefix(Utf8MarkBytes(text));
  const auto* const first =
      std::find_if(text.begin(), text.end(), [](char c) { return !IsJsonBlank(c); });
  return first == text.end() ? '\0' : *first;
}

// The values of a text that is the beginning of a file.
struct FirstValues {
  std::string text;
  bool is_list = false;
  std::vector<std::string_view> values;  // in the text
};

// What is before and at the beginning of each value but the first, and nowhere else: `between`,
// from the value before it on, and up to the end of the first key. Empty if there is none.
struct ValueMark {
  std::string between, beginning;
};

ValueMark MarkOf(const FirstValues& first) {
  const std::vector<std::string_view>& values = first.values;
  if (values.size() < 2) return {};
  const auto before = [&](size_t i) {
    const char* const end = values[i - 1].data() + values[i - 1].size();
    return std::string_view(end, static_cast<size_t>(values[i].data() - end));
  };
  std::string_view beginning = values[1];
  beginning = beginning.substr(0, beginning.find('"', beginning.find('"') + 1));
  for (size_t i = 1; i < values.size(); ++i) {
    if (before(i) != before(1)) return {};
    const auto differ =
        std::mismatch(beginning.begin(), beginning.end(), values[i].begin(), values[i].end());
    beginning = beginning.substr(0, static_cast<size_t>(differ.first - beginning.begin()));
  }
  ValueMark mark{std::string(before(1)), std::string(beginning)};
  const std::string whole = mark.between + mark.beginning;
  size_t times = 0;
  const auto end = static_cast<size_t>(values.back().data() - first.text.data());
  for (size_t at = 0; (at = first.text.find(whole, at)) < end; ++at) ++times;
  return times + 1 == values.size() ? mark : ValueMark();
}

// Sets the values of a stretch, which ends the file or does not, from one on. False if they are not
// those of the file, but of a list or an object within one that ends in the stretch. *stop is then
// where that is.
bool FindValues(std::string_view stretch, bool is_list, bool is_end,
                std::vector<std::string_view>* values, const char** stop) {
  ValueWalk walk(stretch, is_list, false);
  values->clear();
  bool is_none = false;
  try {
    for (std::string_view value; walk.Next(&value);) values->push_back(value);
    is_none = walk.is_closed() && !is_end;
  } catch (const Error& error) {
    if (error.interrupts()) throw;  // otherwise the value goes beyond the stretch, or is none
    const char* const end = stretch.data() + stretch.size();
    const bool begins_value =
        walk.here() == end || std::string_view(",:]}").find(*walk.here()) == std::string_view::npos;
    is_none = walk.is_closed() || !begins_value;
  }
  *stop = walk.here();
  return !is_none;
}

// Adds values of the middle and of the end.
void AddLaterValues(const ByteStream& stream, const FirstValues& first,
                    std::vector<std::string>* values, std::vector<uint64_t>* begins) {
  const auto [between, beginning] = MarkOf(first);
  if (beginning.empty()) return;
  const std::string mark = between + beginning;
  for (const TextSample& later : LaterStretches(stream, first.text.size())) {
    const std::string_view text = later.text;
    const bool is_end = later.begin + text.size() == stream.file().size();
    std::vector<std::string_view> found;
    const char* stop = text.data();
    for (bool are_found = false; !are_found;) {
      const size_t at = text.find(mark, static_cast<size_t>(stop - text.data()));
      if (at == std::string_view::npos) break;
      are_found =
          FindValues(text.substr(at + between.size()), first.is_list, is_end, &found, &stop);
      if (!are_found) found.clear();
    }
    for (const std::string_view value : found) {
      values->emplace_back(value);
      begins->push_back(later.begin + static_cast<uint64_t>(value.data() - text.data()));
    }
  }
}

}  // namespace

bool IsJsonList(const std::string& path) {
  ByteStream stream(path);
  std::string text;
  char first = 0;
  constexpr size_t kStep = size_t{4} << 10;
  for (bool more = true; more && first == 0 && text.size() <= kMaxLineBytes;) {
    const size_t had = text.size();
    text.resize(had + kStep);
    text.resize(had + stream.Read(text.data() + had, kStep));
    more = text.size() == had + kStep;
    first = FirstOf(text);
  }
  return first == '[';
}

std::unique_ptr<IndexableSource> MakeJsonValueSource(
    std::unique_ptr<ByteStream> stream, bool is_list,
    std::function<bool(std::string_view value)> is_record) {
  return std::make_unique<JsonValueSource>(std::move(stream), is_list, std::move(is_record));
}

std::vector<std::string> SampledJsonValues(const std::string& path, std::vector<uint64_t>* begins) {
  ByteStream stream(path);
  FirstValues first;
  const std::string& text = first.text;
  for (bool more = true; more && first.values.empty() && text.size() <= kMaxLineBytes;) {
    more = AddToHead(&stream, &first.text);
    first.is_list = FirstOf(text) == '[';
    ValueWalk walk(text, first.is_list, true);
    try {
      for (std::string_view value; walk.Next(&value);) {
        // A number may go on.
        if (more && value.data() + value.size() == text.data() + text.size()) break;
        first.values.push_back(value);
      }
      if (!more && first.is_list && !walk.is_closed()) {
        Throw(ErrorCode::kDataLoss, "no ] ends the list");
      }
    } catch (const Error& error) {
      if (error.interrupts()) throw;
      if (more) continue;  // it goes beyond what was read, or reading comes to it
      Fail(stream, static_cast<uint64_t>(walk.here() - text.data()),
           StrCat("is none: ", error.message()));
    }
  }
  std::vector<std::string> values(first.values.begin(), first.values.end());
  begins->clear();
  for (const std::string_view value : first.values) {
    begins->push_back(static_cast<uint64_t>(value.data() - text.data()));
  }
  AddLaterValues(stream, first, &values, begins);
  return values;
}

}  // namespace millhopper
