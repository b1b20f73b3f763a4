// SPDX-License-Identifier: Apache-2.0
// Source: SentencePiece 0.2 (https://github.com/google/sentencepiece), which writes such maps, and
// tokenizers 0.23 (https://github.com/huggingface/tokenizers), whose Precompiled this is.
#include "operators/text/tokens/chars_map.h"

#include <cstring>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "operators/text/unicode/graphemes.h"
#include "operators/text/unicode/utf8.h"

namespace millhopper {
namespace {

constexpr ptrdiff_t kLongGrapheme = 6;

template <typename... Parts>
[[noreturn]] void Refuse(const Parts&... parts) {
  throw Error(ErrorCode::kDataLoss,
              StrCat("the map of characters (precompiled_charsmap) is damaged: ", parts...));
}

bool IsWithinCharacter(uint8_t byte) { return (byte & 0xc0) == 0x80; }

void AppendText(std::string_view text, TextBytes* out) {
  out->insert(out->end(), text.begin(), text.end());
}

}  // namespace

CharsMap::CharsMap(std::string_view bytes) {
  uint32_t size = 0;
  if (bytes.size() < sizeof(size)) Refuse("it has ", bytes.size(), " bytes");
  std::memcpy(&size, bytes.data(), sizeof(size));
  bytes.remove_prefix(sizeof(size));
  if (size == 0 || size % sizeof(uint32_t) != 0 || size > bytes.size()) {
    Refuse("its trie has ", size, " bytes, of ", bytes.size(), " that there are");
  }
  trie_.resize(size / sizeof(uint32_t));
  std::memcpy(trie_.data(), bytes.data(), size);
  strings_ = bytes.substr(size);
  if (strings_.empty() || strings_.back() != '\0') Refuse("its last string does not end");
  const auto* const first = reinterpret_cast<const uint8_t*>(strings_.data());
  if (EndOfUtf8(first, first + strings_.size()) != first + strings_.size()) {
    Refuse("a string is not UTF-8");
  }
}

std::optional<CharsMap::Found> CharsMap::Find(const uint8_t* here, const uint8_t* end,
                                              bool shortest) const {
  // A unit of the trie: the label, whether a word ends, and where the children lie.
  const auto offset = [](uint32_t unit) { return unit >> 10 << ((unit & 0x200) >> 6); };
  std::optional<Found> found;
  uint32_t place = offset(trie_[0]);
  for (const uint8_t* byte = here; byte != end && *byte != 0; ++byte) {
    place ^= *byte;
    if (place >= trie_.size()) break;
    const uint32_t unit = trie_[place];
    if ((unit & 0x800000ff) != *byte) break;
    place ^= offset(unit);
    if ((unit >> 8 & 1) == 0) continue;
    if (place >= trie_.size()) break;
    const size_t string = trie_[place] & 0x7fffffff;
    if (string >= strings_.size() || IsWithinCharacter(static_cast<uint8_t>(strings_[string]))) {
      Refuse("a string would begin at byte ", string, " of ", strings_.size());
    }
    if (byte + 1 != end && IsWithinCharacter(byte[1])) Refuse("a part of a character is replaced");
    found = Found{strings_.c_str() + string, static_cast<size_t>(byte + 1 - here)};
    if (shortest) break;
  }
  return found;
}

void AppendPrecompiled(const CharsMap& map, const uint8_t* text, size_t size, TextBytes* out) {
  const uint8_t* const end = text + size;
  for (const uint8_t* here = text; here != end;) {
    CheckStop();
    const uint8_t* const after = EndOfGrapheme(here, end);
    if (after - here < kLongGrapheme) {
      if (const std::optional<CharsMap::Found> found = map.FindShortest(here, after)) {
        AppendText(found->becomes, out);
        here = after;
        continue;
      }
    }
    while (here != after) {
      const uint8_t* const next = here + Utf8Length(*here);
      if (const std::optional<CharsMap::Found> found = map.FindShortest(here, next)) {
        AppendText(found->becomes, out);
      } else {
        out->insert(out->end(), here, next);
      }
      here = next;
    }
  }
}

}  // namespace millhopper
