// SPDX-License-Identifier: Apache-2.0
#include "operators/text/tokens/needle.h"

#include <cstring>

#include "operators/text/unicode/utf8.h"

namespace millhopper {

bool Needle::Find(const uint8_t* text, const uint8_t* here, const uint8_t* end,
                  const uint8_t** first, const uint8_t** last) const {
  if (here == end) return false;
  if (const auto* const end_of_piece = std::get_if<EndOfPiece>(&what_)) {
    *first = here;
    *last = (*end_of_piece)(here, end);
    return true;
  }
  if (const auto* const literal = std::get_if<std::string>(&what_)) {
    if (literal->empty()) return false;
    const auto* const found = static_cast<const uint8_t*>(
        memmem(here, static_cast<size_t>(end - here), literal->data(), literal->size()));
    if (found == nullptr) return false;
    *first = found;
    *last = found + literal->size();
    return true;
  }
  const auto& pattern = std::get<Pattern>(what_);
  for (; here != end; here += Utf8Length(*here)) {
    const uint8_t* const found = pattern.MatchAt(text, here, end);
    if (found == nullptr) continue;
    *first = here;
    *last = found;
    return true;
  }
  return false;
}

}  // namespace millhopper
