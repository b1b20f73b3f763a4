// SPDX-License-Identifier: Apache-2.0
#include "readers/text_file.h"

#include <xxhash.h>

#include <algorithm>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/io/byte_stream.h"

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
  const std::string_view text(text_);
  for (size_t begin = 0; begin < text.size();) {
    const size_t found = text.find('\n', begin);
    const size_t end = found == std::string_view::npos ? text.size() : found;
    std::string_view word = text.substr(begin, end - begin);
    if (!word.empty() && word.back() == '\r') word.remove_suffix(1);
    const auto line = static_cast<int64_t>(words_.size());
    if (!words_.emplace(word, line).second) {
      throw Error(ErrorCode::kDataLoss,
                  StrCat("line ", line + 1, ": the word '", Escaped(std::string(word)),
                         "' stands in line ", words_.at(word) + 1, ", too"))
          .InFile(path, static_cast<int64_t>(begin));
    }
    begin = end + 1;
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
