// SPDX-License-Identifier: Apache-2.0
// Pieces of text, compared with the patterns as they are written, tried one alternative after
// another. tests/python/readers/test_tiktoken.py compares them with tiktoken.
#include "operators/text/tokens/pieces.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "operators/text/tokens/pattern.h"
#include "operators/text/unicode/unicode_classes.h"
#include "tests/operators/text/texts.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Pieces = std::vector<std::string>;
using EndOfPiece = const uint8_t* (*)(const uint8_t* here, const uint8_t* end);

Pieces PiecesOf(const std::string& text, EndOfPiece end_of_piece) {
  // Memory of exactly this size, so that a sanitizer sees a read past its end.
  const std::vector<uint8_t> exact(text.begin(), text.end());
  const uint8_t* const end = exact.data() + exact.size();
  Pieces pieces;
  for (const uint8_t* here = exact.data(); here != end;) {
    const uint8_t* const next = end_of_piece(here, end);
    if (next <= here || next > end) throw std::logic_error("a piece ends before it begins");
    pieces.emplace_back(here, next);
    here = next;
  }
  return pieces;
}

// A character of a text that is UTF-8, with its class.
struct Point {
  uint32_t code;
  std::string bytes;
  bool letter, number, space;
  bool newline() const { return code == '\r' || code == '\n'; }
  bool other() const { return !letter && !number && !space; }
};

Point PointOf(uint32_t code) {
  const bool space = (code >= 9 && code <= 13) || code == 32 || code == 0x85 || code == 0xa0 ||
                     code == 0x1680 || (code >= 0x2000 && code <= 0x200a) || code == 0x2028 ||
                     code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
  const Category category = CategoryOf(code);
  return {code, Utf8(code), Has(kAnyLetter, category), Has(kAnyNumber, category), space};
}

// One part of a text: characters, or a byte that is no part of one.
struct Part {
  std::vector<Point> points;
  std::string byte;
};

// The parts of a text; a character is found by trying all lengths.
std::vector<Part> PartsOf(const std::string& text) {
  std::vector<Part> parts(1);
  for (size_t i = 0; i < text.size();) {
    size_t length = 0;
    for (size_t tried = 1; tried <= 4 && i + tried <= text.size() && length == 0; ++tried) {
      uint32_t code = static_cast<uint8_t>(text[i]);
      if (tried > 1) code &= 0xffu >> (tried + 1);
      for (size_t j = 1; j < tried; ++j) code = code << 6 | (text[i + j] & 0x3f);
      const bool is_one = code < 0x110000 && (code < 0xd800 || code >= 0xe000);
      if (!is_one || Utf8(code) != text.substr(i, tried)) continue;
      parts.back().points.push_back(PointOf(code));
      length = tried;
    }
    if (length == 0) {
      parts.push_back({{}, text.substr(i, 1)});
      parts.emplace_back();
    }
    i += length == 0 ? 1 : length;
  }
  return parts;
}

// How many characters from i on, at most `most`, are of a kind.
size_t Run(const std::vector<Point>& text, size_t i, const std::function<bool(const Point&)>& kind,
           size_t most = SIZE_MAX) {
  size_t count = 0;
  while (i + count < text.size() && count < most && kind(text[i + count])) ++count;
  return count;
}

size_t Contraction(const std::vector<Point>& text, size_t i, bool both_cases) {
  if (text[i].code != '\'') return 0;
  for (const char* ending : {"s", "d", "m", "t", "ll", "ve", "re"}) {
    const std::string word(ending);
    size_t same = 0;
    while (same < word.size() && i + 1 + same < text.size()) {
      uint32_t code = text[i + 1 + same].code;
      if (both_cases && code >= 'A' && code <= 'Z') code += 'a' - 'A';
      if (both_cases && code == 0x17f) code = 's';
      if (code != static_cast<uint32_t>(word[same])) break;
      ++same;
    }
    if (same == word.size()) return 1 + same;
  }
  return 0;
}

// \s+(?!\S)|\s, where \s++$ has been tried, by giving back one character after another.
size_t Spaces(const std::vector<Point>& text, size_t i) {
  size_t count = Run(text, i, [](const Point& point) { return point.space; });
  const size_t all = count;
  while (count > 0 && i + count < text.size() && !text[i + count].space) --count;
  return count > 0 ? count : all > 0 ? 1 : 0;
}

size_t Gpt2(const std::vector<Point>& text, size_t i) {
  if (const size_t count = Contraction(text, i, false)) return count;
  const size_t space = text[i].code == ' ' ? 1 : 0;
  using Kind = std::function<bool(const Point&)>;
  for (const Kind& kind : {Kind([](const Point& point) { return point.letter; }),
                           Kind([](const Point& point) { return point.number; }),
                           Kind([](const Point& point) { return point.other(); })}) {
    if (const size_t count = Run(text, i + space, kind)) return space + count;
  }
  return Spaces(text, i);
}

size_t Cl100k(const std::vector<Point>& text, size_t i) {
  if (const size_t count = Contraction(text, i, true)) return count;
  const auto letter = [](const Point& point) { return point.letter; };
  const size_t first = text[i].letter || text[i].number || text[i].newline() ? 0 : 1;
  if (const size_t count = Run(text, i + first, letter)) return first + count;
  if (const size_t count = Run(
          text, i, [](const Point& point) { return point.number; }, 3)) {
    return count;
  }
  const size_t space = text[i].code == ' ' ? 1 : 0;
  if (const size_t count = Run(text, i + space, [](const Point& point) { return point.other(); })) {
    return space + count +
           Run(text, i + space + count, [](const Point& point) { return point.newline(); });
  }
  const size_t spaces = Run(text, i, [](const Point& point) { return point.space; });
  if (i + spaces == text.size()) return spaces;
  for (size_t count = spaces; count > 0; --count) {
    if (text[i + count - 1].newline()) return count;
  }
  return Spaces(text, i);
}

Pieces Expected(const std::string& text,
                size_t (*length)(const std::vector<Point>& text, size_t i)) {
  Pieces pieces;
  for (const Part& part : PartsOf(text)) {
    if (!part.byte.empty()) pieces.push_back(part.byte);
    for (size_t i = 0; i < part.points.size();) {
      std::string piece;
      for (size_t count = length(part.points, i); count > 0; --count) {
        piece += part.points[i++].bytes;
      }
      pieces.push_back(piece);
    }
  }
  return pieces;
}

// Letters of each case, marks and contractions, too.
std::string CasedText(std::mt19937_64* random, size_t parts) {
  static const auto* const kMore = new std::vector<std::string>{
      "A",  "aB",      "\u01c5", "\u02b0", "\u4e2d", "\u0301", "\u0903", "'ll",
      "'S", "/",       "//\n",   "\n/",    "HELLO",  "Hello",  "\u00e9", "\u00c9",
      "'",  "\u0301a", "\u2160", "\u00bd", "123",    "4"};
  std::string text;
  for (size_t i = 0; i < parts; ++i) {
    text +=
        (*random)() % 2 == 0 ? (*kMore)[(*random)() % kMore->size()] : RandomText(random, 1, true);
  }
  return text;
}

CharClass ClassOfCharacter(uint32_t code) {
  const std::string text = Utf8(code);
  const auto* const bytes = reinterpret_cast<const uint8_t*>(text.data());
  return CharacterAt(bytes, bytes + text.size()).cls;
}

// The other tests take letters and numbers from the tables that they test. These numbers are those
// of unicodedata2 16.0.0 (general categories L and N), which tools/dev/unicode_classes.py asks.
TEST(Pieces, KnowTheLettersAndNumbersOfUnicode16) {
  size_t letters = 0, numbers = 0, spaces = 0;
  for (uint32_t code = 0; code < 0x110000; ++code) {
    if (code >= 0xd800 && code < 0xe000) continue;
    const CharClass cls = ClassOfCharacter(code);
    letters += cls == CharClass::kLetter ? 1 : 0;
    numbers += cls == CharClass::kNumber ? 1 : 0;
    spaces += cls == CharClass::kSpace || cls == CharClass::kNewline ? 1 : 0;
  }
  EXPECT_EQ(letters, 141028u);
  EXPECT_EQ(numbers, 1911u);
  EXPECT_EQ(spaces, 25u);                                    // White_Space of PropList.txt
  EXPECT_EQ(ClassOfCharacter(0x1c89), CharClass::kLetter);   // Cyrillic Tje, new in Unicode 16
  EXPECT_EQ(ClassOfCharacter(0x10d4a), CharClass::kLetter);  // Garay vowel sign A, new, too
  EXPECT_EQ(ClassOfCharacter(0x10d40), CharClass::kNumber);  // Garay digit zero, new, too
  EXPECT_EQ(ClassOfCharacter(0x2160), CharClass::kNumber);   // Roman numeral one
  EXPECT_EQ(ClassOfCharacter(0xb2), CharClass::kNumber);     // superscript two
  EXPECT_EQ(ClassOfCharacter(0x300), CharClass::kOther);     // a combining grave accent
  EXPECT_EQ(ClassOfCharacter(0x378), CharClass::kOther);     // is not assigned
}

TEST(Pieces, OfGpt2AreWords) {
  EXPECT_EQ(PiecesOf("It's  12 o'clock,\n\n we'LL see!! ", EndOfGpt2Piece),
            (Pieces{"It", "'s", " ", " 12", " o", "'", "clock", ",", "\n\n", " we", "'", "LL",
                    " see", "!!", " "}));
}

TEST(Pieces, OfCl100kAreWordsAndThreeDigits) {
  EXPECT_EQ(PiecesOf("It's  12345 o'clock,\n\n \n we'LL see!!\n ", EndOfCl100kPiece),
            (Pieces{"It", "'s", " ", " ", "123", "45", " o", "'clock", ",\n\n", " \n", " we", "'LL",
                    " see", "!!\n", " "}));
}

TEST(Pieces, OfBytesThatAreNotUtf8AreTheseBytes) {
  const std::string text = "ab \xc3(\xf0\x9f\x98 c\xed\xa0\x80  \xff\xc0\x80";
  const Pieces bytes = {"\xf0", "\x9f", "\x98", " c",   "\xed", "\xa0",
                        "\x80", "  ",   "\xff", "\xc0", "\x80"};
  Pieces expected = {"ab", " ", "\xc3", "("};
  expected.insert(expected.end(), bytes.begin(), bytes.end());
  EXPECT_EQ(PiecesOf(text, EndOfGpt2Piece), expected);
  EXPECT_EQ(PiecesOf(text, EndOfCl100kPiece), expected);
}

TEST(Pieces, OfRandomTextsAreThoseOfThePatterns) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const std::string text = RandomText(&random, 1 + i % 24, i % 2 == 0);
    ASSERT_EQ(PiecesOf(text, EndOfGpt2Piece), Expected(text, Gpt2)) << Escaped(text);
    ASSERT_EQ(PiecesOf(text, EndOfCl100kPiece), Expected(text, Cl100k)) << Escaped(text);
  }
}

TEST(Pieces, OfEveryCharacterAreThoseOfThePatterns) {
  for (uint32_t code = 0; code < 0x110000; ++code) {
    const std::string text = "a" + Utf8(code) + "1";
    if (code % 16 != 0 && code > 0x3400) {
      const CharClass cls = CharacterAt(reinterpret_cast<const uint8_t*>(text.data()) + 1,
                                        reinterpret_cast<const uint8_t*>(text.data()) + text.size())
                                .cls;
      const bool surrogate = code >= 0xd800 && code < 0xe000;
      ASSERT_EQ(cls == CharClass::kNone, surrogate) << code;
      continue;
    }
    ASSERT_EQ(PiecesOf(text, EndOfGpt2Piece), Expected(text, Gpt2)) << code;
    ASSERT_EQ(PiecesOf(text, EndOfCl100kPiece), Expected(text, Cl100k)) << code;
  }
}

// What is written by hand is what the expressions match (pattern.h).
TEST(Pieces, AreThoseOfTheirExpressions) {
  struct Case {
    EndOfPiece end_of_piece;
    const char* expression;
  };
  const std::vector<Case> cases = {
      {EndOfGpt2Piece,
       R"re('(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s)re"},
      {EndOfCl100kPiece,
       R"re('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++)re"
       R"re([\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s)re"},
      {EndOfLlama3Piece,
       R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N)re"
       R"re(}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re"},
      {EndOfQwen2Piece,
       R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\)re"
       R"re(r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re"},
      {EndOfO200kPiece,
       R"re([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:)re"
       R"re('s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{)re"
       R"re(Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}])re"
       R"re(+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)re"},
  };
  for (const Case& one : cases) {
    const Pattern pattern(one.expression, Pattern::Notation::kRust);
    std::mt19937_64 random(4);
    for (int i = 0; i < 20000; ++i) {
      const std::string text = CasedText(&random, 1 + i % 24);
      const auto* const begin = reinterpret_cast<const uint8_t*>(text.data());
      Pieces expected;
      for (const uint8_t* here = begin; here != begin + text.size();) {
        const uint8_t* const next = pattern.MatchAt(begin, here, begin + text.size());
        ASSERT_NE(next, nullptr) << Escaped(text);
        expected.emplace_back(here, next);
        here = next;
      }
      ASSERT_EQ(PiecesOf(text, one.end_of_piece), expected) << Escaped(text) << one.expression;
    }
  }
}

}  // namespace
}  // namespace millhopper
