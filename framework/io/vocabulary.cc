// SPDX-License-Identifier: Apache-2.0
#include "framework/io/vocabulary.h"

#include "framework/base/error.h"
#include "framework/io/text_file.h"

namespace millhopper {

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

std::string Shown(std::string_view text) {
  constexpr size_t kShownBytes = 60;
  return text.size() <= kShownBytes ? Escaped(std::string(text))
                                    : Escaped(std::string(text.substr(0, kShownBytes))) + "...";
}

}  // namespace millhopper
