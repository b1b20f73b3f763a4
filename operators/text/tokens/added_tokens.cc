// SPDX-License-Identifier: Apache-2.0
// Source: AddedVocabulary of tokenizers 0.23 (https://github.com/huggingface/tokenizers), and
// encode of tiktoken, whose result this is.
#include "operators/text/tokens/added_tokens.h"

#include <algorithm>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "operators/text/unicode/unicode_classes.h"
#include "operators/text/unicode/utf8.h"
#include "readers/support/text_file.h"

namespace millhopper {

AddedTokens::AddedTokens(std::vector<std::pair<std::string, AddedToken>> tokens)
    : tokens_(std::move(tokens)) {
  const auto by_string = [](const auto& left, const auto& right) {
    return left.first < right.first;
  };
  std::stable_sort(tokens_.begin(), tokens_.end(), by_string);
  for (size_t i = 1; i < tokens_.size(); ++i) {
    Require(tokens_[i].first != tokens_[i - 1].first, "the tokens '",
            Shown(tokens_[i - 1].second.content), "' and '", Shown(tokens_[i].second.content),
            "' are the same when they are normalized, and either may be found");
  }
  for (const auto& [string, token] : tokens_) {
    Require(!string.empty(), "the token '", Shown(token.content), "' is normalized to nothing");
    ++first_of_byte_[static_cast<uint8_t>(string[0]) + size_t{1}];
  }
  for (size_t i = 1; i < first_of_byte_.size(); ++i) first_of_byte_[i] += first_of_byte_[i - 1];
}

const std::pair<std::string, AddedToken>* AddedTokens::LongestAt(const uint8_t* here,
                                                                 const uint8_t* end) const {
  const auto* first = tokens_.data() + first_of_byte_[*here];
  const auto* last = tokens_.data() + first_of_byte_[*here + size_t{1}];
  const std::pair<std::string, AddedToken>* longest = nullptr;
  // From first to last begin with what has been looked at; the shortest of them comes first.
  for (size_t depth = 1; first != last; ++depth) {
    if (first->first.size() == depth) longest = first++;
    if (here + depth == end) break;
    const uint8_t byte = here[depth];
    const auto less = [depth](const auto& token, uint8_t value) {
      return static_cast<uint8_t>(token.first[depth]) < value;
    };
    const auto greater = [depth](uint8_t value, const auto& token) {
      return value < static_cast<uint8_t>(token.first[depth]);
    };
    first = std::lower_bound(first, last, byte, less);
    last = std::upper_bound(first, last, byte, greater);
  }
  return longest;
}

void AddedTokens::Split(const uint8_t* text, size_t size, Specials specials,
                        PooledVector<TextPart>* parts) const {
  const uint8_t* const end = text + size;
  size_t done = 0;
  for (const uint8_t* here = text; here != end;) {
    if (first_of_byte_[*here] == first_of_byte_[*here + size_t{1}]) {
      ++here;
      continue;
    }
    CheckStop();
    const auto* const found = LongestAt(here, end);
    if (found == nullptr) {
      ++here;
      continue;
    }
    const AddedToken& token = found->second;
    const uint8_t* begin = here;
    const uint8_t* after = here + found->first.size();
    here = after;
    if (token.special && specials == Specials::kText) continue;
    if (token.single_word && ((begin != text && IsWordCharacter(CodePointAt(BackOne(begin)))) ||
                              (after != end && IsWordCharacter(CodePointAt(after))))) {
      continue;
    }
    if (token.special && specials == Specials::kRefuse) {
      throw Error(ErrorCode::kDataLoss,
                  StrCat("the text has the special token '", Shown(token.content), "' at byte ",
                         begin - text,
                         ", and special tokens are refused; special \"allow\" makes "
                         "it a token, \"text\" text like any other"));
    }
    while (token.lstrip && begin != text && IsSpace(CodePointAt(BackOne(begin)))) {
      begin = BackOne(begin);
    }
    while (token.rstrip && after != end && IsSpace(CodePointAt(after))) after += Utf8Length(*after);
    const size_t first = std::max(static_cast<size_t>(begin - text), done);
    const auto last = static_cast<size_t>(after - text);
    if (done < first) parts->push_back({done, first, nullptr});
    parts->push_back({first, last, &token});
    done = last;
  }
  if (done < size) parts->push_back({done, size, nullptr});
}

}  // namespace millhopper
