// SPDX-License-Identifier: Apache-2.0
// The map of characters (precompiled_charsmap) that models of SentencePiece have, and files of
// tokenizers made from them: what becomes of a character, or of several together. It comes from
// outside and is not trusted.
#ifndef MILLHOPPER_OPERATORS_TEXT_TOKENS_CHARS_MAP_H_
#define MILLHOPPER_OPERATORS_TEXT_TOKENS_CHARS_MAP_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operators/text/unicode/unicode_normal.h"

namespace millhopper {

// Immutable once made; any thread. All text is UTF-8, and so is what it becomes.
class CharsMap {
 public:
  // The bytes of a map: the size of a trie (four bytes, little endian), the trie (Darts, four bytes
  // a unit), then strings, each with a 0 at its end. Throws kDataLoss if that is not what they are.
  explicit CharsMap(std::string_view bytes);

  struct Found {
    std::string_view becomes;
    size_t size;  // how many bytes of the text are replaced
  };
  // The longest prefix of [here, end) that the map has, or the shortest. Throws kDataLoss where the
  // trie is found to be damaged.
  std::optional<Found> FindLongest(const uint8_t* here, const uint8_t* end) const {
    return Find(here, end, false);
  }
  std::optional<Found> FindShortest(const uint8_t* here, const uint8_t* end) const {
    return Find(here, end, true);
  }

 private:
  std::optional<Found> Find(const uint8_t* here, const uint8_t* end, bool shortest) const;

  std::vector<uint32_t> trie_;
  std::string strings_;
};

// Appends what the normalizer Precompiled of Hugging Face's tokenizers makes of a text. It is not
// what SentencePiece makes of it: what a reader sees as one character (a grapheme) of less than six
// bytes becomes what its shortest prefix does, as a whole; of longer ones each code point does.
void AppendPrecompiled(const CharsMap& map, const uint8_t* text, size_t size, TextBytes* out);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_TEXT_TOKENS_CHARS_MAP_H_
