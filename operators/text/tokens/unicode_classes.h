// SPDX-License-Identifier: Apache-2.0
// What text is split by: the letters, numbers and white space of Unicode 16.0, read from UTF-8.
#ifndef MILLHOPPER_OPERATORS_TEXT_TOKENS_UNICODE_CLASSES_H_
#define MILLHOPPER_OPERATORS_TEXT_TOKENS_UNICODE_CLASSES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace millhopper {

enum class CharClass : uint8_t {
  kNone,       // no character: the end of the text, or a byte that is not UTF-8
  kLetter,     // \p{L}
  kNumber,     // \p{N}
  kSpace,      // \s, without the next two
  kNewline,    // \r and \n
  kOther,      // all other characters
  kMultibyte,  // only in kByteClasses: the first byte of more than one, or no UTF-8
};

struct CodePointRange {
  uint32_t first, last;
};

// In ascending order.
const std::vector<CodePointRange>& LetterRanges();
const std::vector<CodePointRange>& NumberRanges();

// The class of a code point below 0x110000, by a table that the first call makes. Any thread.
CharClass ClassOf(uint32_t code_point);

struct Character {
  CharClass cls;
  uint32_t length;  // in bytes; 1 for a byte that is not UTF-8, 0 at the end
};

// The character that begins with *here, which is 0x80 or more. UTF-8 is that of RFC 3629: without
// overlong forms, surrogates and what lies above 0x10ffff.
Character DecodeMultibyte(const uint8_t* here, const uint8_t* end);

// The class of every byte that begins a character.
extern const std::array<CharClass, 256> kByteClasses;

inline Character CharacterAt(const uint8_t* here, const uint8_t* end) {
  if (here == end) return {CharClass::kNone, 0};
  const CharClass cls = kByteClasses[*here];
  if (cls != CharClass::kMultibyte) return {cls, 1};
  return DecodeMultibyte(here, end);
}

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_TEXT_TOKENS_UNICODE_CLASSES_H_
