// SPDX-License-Identifier: Apache-2.0
#include "readers/text_file.h"

#include <xxhash.h>

#include <algorithm>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/io/byte_stream.h"
#include "readers/line_ends.h"

namespace millhopper {

std::string ReadTextFile(const std::string& path, const char* what) {
  ByteStream stream(path);
  std::string text(std::min<uint64_t>(stream.most_left(), kMaxUnsizedBytes + 1), '\0');
  text.resize(stream.Read(text.data(), text.size()));
  if (text.size() > kMaxUnsizedBytes) {
    throw Error(ErrorCode::kResourceLimit,
                StrCat("the ", what, " is larger than ", kMaxUnsizedBytes, " bytes"))
        .InFile(path, 0);
  }
  char next;
  stream.Read(&next, 1);  // throws if the text ends where an error is
  return text;
}

Vocabulary::Vocabulary(const std::string& path) : text_(ReadTextFile(path, "vocabulary")) {
  const char* const text = text_.data();
  const char* const limit = text + text_.size();
  LineEnds ends(text, limit, LoneCr::kEndsLine);
  LineEnds::Line found{};
  for (const char* begin = text + Utf8MarkBytes(text_); begin < limit; begin = found.next) {
    found = ends.From(begin, true);
    const std::string_view word(begin, static_cast<size_t>(found.end - begin));
    const auto line = static_cast<int64_t>(words_.size());
    if (!words_.emplace(word, line).second) {
      throw Error(ErrorCode::kDataLoss,
                  StrCat("line ", line + 1, ": the word '", Escaped(std::string(word)),
                         "' stands in line ", words_.at(word) + 1, ", too"))
          .InFile(path, begin - text);
    }
  }
}

uint64_t HashBucket(std::string_view word, uint64_t buckets) {
  return XXH64(word.data(), word.size(), 0) % buckets;
}

std::string Shown(std::string_view word) {
  constexpr size_t kShownBytes = 60;
  return word.size() <= kShownBytes ? Escaped(std::string(word))
                                    : Escaped(std::string(word.substr(0, kShownBytes))) + "...";
}

}  // namespace millhopper
