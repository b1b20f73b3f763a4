// SPDX-License-Identifier: Apache-2.0
// Source: the patterns of tiktoken 0.14 (https://github.com/openai/tiktoken), tiktoken_ext.
#include "operators/text/tokens/pieces.h"

#include "operators/text/tokens/unicode_classes.h"

namespace millhopper {
namespace {

constexpr bool IsSpace(CharClass cls) {
  return cls == CharClass::kSpace || cls == CharClass::kNewline;
}

// The end of the characters of one class that follow.
const uint8_t* Skip(CharClass cls, const uint8_t* here, const uint8_t* end) {
  for (;;) {
    while (here != end && kByteClasses[*here] == cls) ++here;
    const Character next = CharacterAt(here, end);
    if (next.cls != cls) return here;
    here += next.length;
  }
}

// The white space that begins at `begin`.
struct Spaces {
  Spaces(const uint8_t* begin, const uint8_t* text_end) : end(begin), last(begin) {
    Character next = CharacterAt(end, text_end);
    while (IsSpace(next.cls)) {
      last = end;
      end += next.length;
      if (next.cls == CharClass::kNewline) after_newline = end;
      next = CharacterAt(end, text_end);
    }
    at_end_of_text = next.cls == CharClass::kNone;
  }

  const uint8_t* end;
  const uint8_t* last;                     // its last character
  const uint8_t* after_newline = nullptr;  // after its last \r or \n, if there is one
  bool at_end_of_text;
};

// \s++$|\s+(?!\S)|\s: all of it at the end of the text, else all but the last character, unless
// that is the only one.
const uint8_t* EndOfSpaces(const uint8_t* here, const Spaces& spaces) {
  return spaces.at_end_of_text || spaces.last == here ? spaces.end : spaces.last;
}

// The end of 's, 'd, 'm, 't, 'll, 've or 're, which begins at `here`, else null. Of letters of both
// cases, the long s, U+017F, is the only one beyond ASCII that is one of these.
template <bool kBothCases>
const uint8_t* EndOfContraction(const uint8_t* here, const uint8_t* end) {
  if (*here != '\'' || end - here < 2) return nullptr;
  const auto lower = [](uint8_t byte) { return kBothCases && byte < 0x80 ? byte | 0x20 : byte; };
  const int first = lower(here[1]);
  if (first == 's' || first == 'd' || first == 'm' || first == 't') return here + 2;
  if (end - here < 3) return nullptr;
  if (kBothCases && first == 0xc5 && here[2] == 0xbf) return here + 3;
  const int second = lower(here[2]);
  const bool is_one = (first == 'l' && second == 'l') || (first == 'v' && second == 'e') ||
                      (first == 'r' && second == 'e');
  return is_one ? here + 3 : nullptr;
}

}  // namespace

const uint8_t* EndOfGpt2Piece(const uint8_t* here, const uint8_t* end) {
  if (const uint8_t* const contraction = EndOfContraction<false>(here, end)) return contraction;
  const uint8_t* const begin = here + (*here == ' ' ? 1 : 0);
  const Character first = CharacterAt(begin, end);
  switch (first.cls) {
    case CharClass::kLetter:
    case CharClass::kNumber:
    case CharClass::kOther:
      return Skip(first.cls, begin + first.length, end);
    case CharClass::kNone:
      return begin == here ? here + 1 : begin;  // a byte that is not UTF-8, or a space before it
    default:
      return EndOfSpaces(here, Spaces(here, end));
  }
}

const uint8_t* EndOfCl100kPiece(const uint8_t* here, const uint8_t* end) {
  if (const uint8_t* const contraction = EndOfContraction<true>(here, end)) return contraction;
  const Character first = CharacterAt(here, end);
  const uint8_t* next = here + first.length;
  switch (first.cls) {
    case CharClass::kNone:
      return next;
    case CharClass::kLetter:
      return Skip(CharClass::kLetter, next, end);
    case CharClass::kNumber:
      for (int more = 0; more < 2; ++more) {
        const Character number = CharacterAt(next, end);
        if (number.cls != CharClass::kNumber) break;
        next += number.length;
      }
      return next;
    default:
      break;
  }
  const CharClass second = CharacterAt(next, end).cls;
  if (first.cls != CharClass::kNewline && second == CharClass::kLetter) {
    return Skip(CharClass::kLetter, next, end);
  }
  if (first.cls == CharClass::kOther || (*here == ' ' && second == CharClass::kOther)) {
    next = Skip(CharClass::kOther, next, end);
    return Skip(CharClass::kNewline, next, end);
  }
  const Spaces spaces(here, end);
  if (!spaces.at_end_of_text && spaces.after_newline != nullptr) return spaces.after_newline;
  return EndOfSpaces(here, spaces);
}

}  // namespace millhopper
