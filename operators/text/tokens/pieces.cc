// SPDX-License-Identifier: Apache-2.0
// Source: the patterns of tiktoken 0.14 (https://github.com/openai/tiktoken), tiktoken_ext.
#include "operators/text/tokens/pieces.h"

#include "operators/text/unicode/unicode_classes.h"
#include "operators/text/unicode/utf8.h"

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

// \p{N}{1,kDigits}, the first of which ends at `next`.
template <int kDigits>
const uint8_t* EndOfDigits(const uint8_t* next, const uint8_t* end) {
  for (int digits = 1; digits < kDigits; ++digits) {
    const Character number = CharacterAt(next, end);
    if (number.cls != CharClass::kNumber) break;
    next += number.length;
  }
  return next;
}

// cl100k and its relatives: a piece has at most so many digits, and white space at the end of the
// text is one piece, or has newlines apart.
template <int kDigits, bool kOneEnd>
const uint8_t* EndOfModernPiece(const uint8_t* here, const uint8_t* end) {
  if (const uint8_t* const contraction = EndOfContraction<true>(here, end)) return contraction;
  const Character first = CharacterAt(here, end);
  const uint8_t* next = here + first.length;
  switch (first.cls) {
    case CharClass::kNone:
      return next;
    case CharClass::kLetter:
      return Skip(CharClass::kLetter, next, end);
    case CharClass::kNumber:
      return EndOfDigits<kDigits>(next, end);
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
  if (spaces.after_newline != nullptr && !(kOneEnd && spaces.at_end_of_text)) {
    return spaces.after_newline;
  }
  return EndOfSpaces(here, spaces);
}

// Letters and marks as o200k tells them apart.
struct Letter {
  bool upper;  // [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]
  bool lower;  // [\p{Ll}\p{Lm}\p{Lo}\p{M}]
  uint32_t length;
};

Letter LetterAt(const uint8_t* here, const uint8_t* end) {
  if (here == end) return {false, false, 0};
  const uint8_t first = *here;
  if (first < 0x80) {
    return {first >= 'A' && first <= 'Z', first >= 'a' && first <= 'z', 1};
  }
  const Character character = DecodeMultibyte(here, end);
  if (character.cls == CharClass::kNone) return {false, false, 1};
  constexpr Categories kBoth = Only(Category::kLm) | Only(Category::kLo) | kAnyMark;
  const Category category = CategoryOf(CodePointAt(here));
  return {Has(kBoth | Only(Category::kLu) | Only(Category::kLt), category),
          Has(kBoth | Only(Category::kLl), category), character.length};
}

// A word of o200k that begins at `here`.
struct CasedWord {
  CasedWord(const uint8_t* here, const uint8_t* end) {
    Letter letter = LetterAt(here, end);
    while (letter.upper) {
      here += letter.length;
      if (letter.lower) with_lower = here;
      letter = LetterAt(here, end);
    }
    upper = here;
    if (!letter.lower) return;
    while (letter.lower) {
      here += letter.length;
      letter = LetterAt(here, end);
    }
    with_lower = here;
  }

  const uint8_t* with_lower = nullptr;  // the end of upper*lower+, if there is one
  const uint8_t* upper;                 // the end of upper*
};

// The end of a word with the character before it, if it has one, else null.
const uint8_t* EndOfCasedWord(const uint8_t* here, const Character& first, const uint8_t* end) {
  const bool is_letter = first.cls == CharClass::kLetter;
  const bool may_precede = !is_letter && first.cls != CharClass::kNumber &&
                           first.cls != CharClass::kNewline && first.cls != CharClass::kNone;
  const CasedWord word(here, end);
  const uint8_t* found = nullptr;
  if (may_precede) {
    const uint8_t* const begin = here + first.length;
    const CasedWord after(begin, end);
    found = after.with_lower != nullptr  ? after.with_lower
            : word.with_lower != nullptr ? word.with_lower
            : after.upper != begin       ? after.upper
                                         : nullptr;
  } else {
    found = word.with_lower;
  }
  if (found == nullptr && word.upper != here) found = word.upper;
  if (found == nullptr) return nullptr;
  const uint8_t* const contraction = found == end ? nullptr : EndOfContraction<true>(found, end);
  return contraction != nullptr ? contraction : found;
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
  return EndOfModernPiece<3, true>(here, end);
}

const uint8_t* EndOfLlama3Piece(const uint8_t* here, const uint8_t* end) {
  return EndOfModernPiece<3, false>(here, end);
}

const uint8_t* EndOfQwen2Piece(const uint8_t* here, const uint8_t* end) {
  return EndOfModernPiece<1, false>(here, end);
}

const uint8_t* EndOfO200kPiece(const uint8_t* here, const uint8_t* end) {
  const Character first = CharacterAt(here, end);
  if (const uint8_t* const word = EndOfCasedWord(here, first, end)) return word;
  const uint8_t* next = here + first.length;
  if (first.cls == CharClass::kNone) return next;
  if (first.cls == CharClass::kNumber) return EndOfDigits<3>(next, end);
  const CharClass second = CharacterAt(next, end).cls;
  if (first.cls == CharClass::kOther || (*here == ' ' && second == CharClass::kOther)) {
    next = Skip(CharClass::kOther, next, end);
    while (next != end && (*next == '\r' || *next == '\n' || *next == '/')) ++next;
    return next;
  }
  const Spaces spaces(here, end);
  return spaces.after_newline != nullptr ? spaces.after_newline : EndOfSpaces(here, spaces);
}

}  // namespace millhopper
