// SPDX-License-Identifier: Apache-2.0
// Source: data_gym_to_mergeable_bpe_ranks and load_tiktoken_bpe of tiktoken 0.14
// (https://github.com/openai/tiktoken); the alphabet is that of GPT-2's encoder.py.
#include "operators/text/tokens/token_files.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "framework/base/error.h"
#include "operators/text/tokens/base64.h"
#include "operators/text/tokens/byte_alphabet.h"
#include "readers/support/line_ends.h"
#include "readers/support/text_file.h"

namespace millhopper {
namespace {

constexpr char kTiktokenLine[] =
    "a line is the bytes of a token in base64, a space and its rank, such as 'aGk= 617'";
constexpr char kMergesLine[] = "a line is two tokens with a space between, such as 'h i'";

// The lines of a file that are not empty, one after another.
class Lines {
 public:
  Lines(std::string_view text, const std::string& path)
      : text_(text),
        path_(path),
        ends_(text.data(), text.data() + text.size(), LoneCr::kEndsLine),
        next_(text.data()) {}

  bool Next(std::string_view* line) {
    const char* const limit = text_.data() + text_.size();
    while (next_ < limit) {
      const char* const begin = next_;
      const LineEnds::Line found = ends_.From(begin, true);
      begin_ = static_cast<size_t>(begin - text_.data());
      next_ = found.next;
      ++number_;
      *line = std::string_view(begin, static_cast<size_t>(found.end - begin));
      if (number_ == 1 && Utf8MarkBytes(*line) > 0) {
        Throw("the file begins with a byte order mark (the bytes EF BB BF), which belongs to no ",
              "token; save it as UTF-8 without one");
      }
      if (!line->empty()) return true;
    }
    return false;
  }
  size_t number() const { return number_; }  // of the line, from 1 on
  size_t begin() const { return begin_; }

  template <typename... Parts>
  [[noreturn]] void Throw(const Parts&... parts) const {
    ThrowAt(ErrorCode::kDataLoss, number_, begin_, parts...);
  }
  // Throws unless there may be one more token, and one of this size.
  void CheckLimits(size_t tokens, size_t size) const {
    if (tokens >= kMaxTokens) {
      ThrowAt(ErrorCode::kResourceLimit, number_, begin_, "there are more than ", kMaxTokens,
              " tokens");
    }
    if (size > kMaxTokenBytes) {
      ThrowAt(ErrorCode::kResourceLimit, number_, begin_, "a token of ", size,
              " bytes; the limit is ", kMaxTokenBytes);
    }
  }
  template <typename... Parts>
  [[noreturn]] void ThrowAt(ErrorCode code, size_t number, size_t begin,
                            const Parts&... parts) const {
    throw Error(code, StrCat("line ", number, ": ", parts...))
        .InFile(path_, static_cast<int64_t>(begin));
  }

 private:
  const std::string_view text_;
  const std::string& path_;
  LineEnds ends_;
  const char* next_;
  size_t begin_ = 0;
  size_t number_ = 0;
};

// ---- tiktoken's form ----

struct RankedToken {
  int32_t rank;
  uint32_t line;
  size_t begin;  // of the line, in the file
  size_t bytes;  // where its bytes begin
  size_t size;
};

// ---- GPT-2's form ----

constexpr size_t kBytes = 256;

// The halves of a merge as bytes; throws if they are not two tokens.
void ReadMerge(const Lines& lines, std::string_view line, const TokenTable& tokens,
               std::string* merged) {
  const size_t space = line.find(' ');
  if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos) {
    lines.Throw("'", Shown(line), "' is no merge: ", kMergesLine);
  }
  merged->clear();
  for (const std::string_view half : {line.substr(0, space), line.substr(space + 1)}) {
    std::string bytes;
    if (half.empty() || !Gpt2Alphabet().Decode(half, &bytes)) {
      lines.Throw("'", Shown(half), "' is not written in GPT-2's alphabet of bytes");
    }
    if (tokens.Find(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()) ==
        TokenTable::kNone) {
      lines.Throw("'", Shown(half), "' is no token of an earlier line");
    }
    *merged += bytes;
  }
}

// Whether this is the first line of a file of merges.
bool IsVersionLine(std::string_view line) {
  constexpr std::string_view kVersion = "#version";
  return line.substr(0, kVersion.size()) == kVersion;
}

bool HoldsMerges(std::string_view text, const std::string& path) {
  Lines lines(text, path);
  std::string_view line;
  return lines.Next(&line) && IsVersionLine(line);
}

}  // namespace

TokenTable ParseTiktoken(std::string_view text, const std::string& path) {
  PooledVector<char> bytes;
  PooledVector<RankedToken> ranked;
  Lines lines(text, path);
  std::string_view line;
  while (lines.Next(&line)) {
    const size_t space = line.find(' ');
    const size_t begin = bytes.size();
    if (space == std::string_view::npos || !AppendBase64(line.substr(0, space), &bytes)) {
      lines.Throw("'", Shown(line), "' is no token: ", kTiktokenLine);
    }
    const std::string_view digits = line.substr(space + 1);
    int32_t rank = -1;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
    if (read.ec != std::errc() || read.ptr != digits.data() + digits.size() || rank < 0) {
      lines.Throw("'", Shown(digits), "' is no rank; it is 0 to ",
                  std::numeric_limits<int32_t>::max());
    }
    lines.CheckLimits(ranked.size(), bytes.size() - begin);
    ranked.push_back(
        {rank, static_cast<uint32_t>(lines.number()), lines.begin(), begin, bytes.size() - begin});
  }
  std::stable_sort(
      ranked.begin(), ranked.end(),
      [](const RankedToken& left, const RankedToken& right) { return left.rank < right.rank; });
  TokenTable tokens;
  const RankedToken* before = nullptr;
  for (const RankedToken& one : ranked) {
    const auto refuse = [&](const char* what, uint32_t other) {
      lines.ThrowAt(ErrorCode::kDataLoss, one.line, one.begin, what, " of line ", other,
                    " stands here, too");
    };
    if (before != nullptr && before->rank == one.rank) refuse("the rank", before->line);
    const uint32_t same = tokens.Add({&bytes[one.bytes], one.size}, one.rank);
    if (same != TokenTable::kNone) refuse("the token", ranked[same].line);
    before = &one;
  }
  for (size_t byte = 0; byte < kBytes; ++byte) {
    if (tokens.OfByte(static_cast<uint8_t>(byte)) != TokenTable::kNone) continue;
    lines.ThrowAt(ErrorCode::kDataLoss, lines.number(), text.size(),
                  "the file ends, and no token is the byte ", byte,
                  "; each of the 256 bytes must be one");
  }
  return tokens;
}

TokenTable ParseMerges(std::string_view text, const std::string& path) {
  Lines lines(text, path);
  std::string_view line;
  if (!lines.Next(&line) || !IsVersionLine(line)) {
    lines.Throw("a file of merges begins with a line '#version: ...'");
  }
  TokenTable tokens;
  int32_t id = 0;
  for (const char& byte : Gpt2Alphabet().in_order()) tokens.Add({&byte, 1}, id++);
  std::string merged;
  while (lines.Next(&line)) {
    ReadMerge(lines, line, tokens, &merged);
    lines.CheckLimits(tokens.size(), merged.size());
    if (tokens.Add(merged, id++) != TokenTable::kNone) {
      lines.Throw("'", Shown(line), "' makes a token that an earlier line has made");
    }
  }
  return tokens;
}

TokenTable WithIds(const TokenTable& tokens, std::string_view json, const std::string& path) {
  const auto refuse = [&path](const auto&... parts) {
    throw Error(ErrorCode::kDataLoss, StrCat(parts...)).InFile(path, 0);
  };
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  const simdjson::error_code error = parser.parse(json.data(), json.size()).get(object);
  if (error != simdjson::SUCCESS) {
    refuse("it is no JSON object of tokens and ids: ", simdjson::error_message(error));
  }
  constexpr int64_t kUnknown = -1;
  PooledVector<int64_t> ids(tokens.size(), kUnknown);
  std::unordered_map<int64_t, uint32_t> token_of_id;
  std::string bytes;
  for (const auto& [key, value] : object) {
    if (key.empty() || !Gpt2Alphabet().Decode(key, &bytes)) {
      refuse("the token '", Shown(key), "' is not written in GPT-2's alphabet of bytes");
    }
    const uint32_t token =
        tokens.Find(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    if (token == TokenTable::kNone) continue;
    int64_t id = kUnknown;
    if (value.get(id) != simdjson::SUCCESS || id < 0 || id > std::numeric_limits<int32_t>::max()) {
      refuse("the id of the token '", Shown(key), "' is no number from 0 to ",
             std::numeric_limits<int32_t>::max());
    }
    if (ids[token] != kUnknown) refuse("the token '", Shown(key), "' stands in it twice");
    if (!token_of_id.emplace(id, token).second) refuse("two tokens have the id ", id);
    ids[token] = id;
  }
  TokenTable result;
  for (uint32_t token = 0; token < tokens.size(); ++token) {
    if (ids[token] == kUnknown) {
      refuse("it has no id for token ", token, " of the merges, the bytes '",
             Shown(tokens.bytes(token)), "'");
    }
    result.Add(tokens.bytes(token), static_cast<int32_t>(ids[token]));
  }
  return result;
}

TokenTable ParseTokens(std::string_view text, const std::string& path,
                       const std::string& vocabulary) {
  if (!HoldsMerges(text, path)) {
    Require(vocabulary.empty(), "the file '", path,
            "' holds ranks, as tiktoken's do, which are the ids; the vocabulary '", vocabulary,
            "' is for a file of merges, whose first line begins with #version");
    return ParseTiktoken(text, path);
  }
  TokenTable tokens = ParseMerges(text, path);
  if (vocabulary.empty()) return tokens;
  return WithIds(tokens, ReadTextFile(vocabulary, "vocabulary"), vocabulary);
}

}  // namespace millhopper
