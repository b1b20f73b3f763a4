// SPDX-License-Identifier: Apache-2.0
// What text is split by: the general categories of Unicode 16.0, and the letters, numbers and white
// space of them, read from UTF-8.
#ifndef MILLHOPPER_OPERATORS_TEXT_UNICODE_UNICODE_CLASSES_H_
#define MILLHOPPER_OPERATORS_TEXT_UNICODE_UNICODE_CLASSES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace millhopper {

// The general categories, by the names that \p{...} has for them.
enum class Category : uint8_t {
  // clang-format off
  kCn, kCc, kCf, kCo, kCs, kLu, kLl, kLt, kLm, kLo, kMn, kMc, kMe, kNd, kNl, kNo, kPc, kPd, kPs,
  kPe, kPi, kPf, kPo, kSm, kSc, kSk, kSo, kZs, kZl, kZp,
  // clang-format on
  kNextLine,  // U+0085, which is Cc, and beyond ASCII the only white space that is not Z
};

// A set of categories: the bit 1 << category is set.
using Categories = uint32_t;
constexpr Categories Only(Category category) { return Categories{1} << static_cast<int>(category); }
// From the first to the last, in the order of Category.
constexpr Categories Between(Category first, Category last) {
  return (Only(last) << 1) - Only(first);
}
constexpr Categories kAnyLetter = Between(Category::kLu, Category::kLo);
constexpr Categories kAnyMark = Between(Category::kMn, Category::kMe);
constexpr Categories kAnyNumber = Between(Category::kNd, Category::kNo);
constexpr Categories kAnyPunctuation = Between(Category::kPc, Category::kPo);
constexpr Categories kAnySymbol = Between(Category::kSm, Category::kSo);
constexpr Categories kAnySeparator = Between(Category::kZs, Category::kZp);
constexpr Categories kAnyControl =
    Between(Category::kCc, Category::kCs) | Only(Category::kNextLine);  // \p{C} without Cn
// \s beyond ASCII.
constexpr Categories kAnySpace = kAnySeparator | Only(Category::kNextLine);
// \w, beside kAlphabeticSymbols: letters in circles and squares, which are symbols.
constexpr Categories kAnyWord =
    kAnyLetter | kAnyMark | Only(Category::kNd) | Only(Category::kNl) | Only(Category::kPc);
constexpr uint32_t kAlphabeticSymbols[][2] = {
    {0x24b6, 0x24e9}, {0x1f130, 0x1f149}, {0x1f150, 0x1f169}, {0x1f170, 0x1f189}};

constexpr bool Has(Categories set, Category category) {
  return (set >> static_cast<int>(category) & 1) != 0;
}

enum class CharClass : uint8_t {
  kNone,       // no character: the end of the text, or a byte that is not UTF-8
  kLetter,     // \p{L}
  kNumber,     // \p{N}
  kSpace,      // \s, without the next two
  kNewline,    // \r and \n
  kOther,      // all other characters
  kMultibyte,  // only in kByteClasses: the first byte of more than one, or no UTF-8
};

// Runs of code points of one category, in ascending order: the first code point << 5 | category.
// A run ends where the next one begins, the last one at 0x110000.
extern const uint32_t kCategoryRuns[];
extern const size_t kCategoryRunCount;

// Scripts of Unicode 16.0, in the order of their names.
struct Script {
  const char* name;
  const char* abbreviation;
};
extern const Script kScripts[];
extern const size_t kScriptCount;
// Runs of code points of one script: the first << 8 | number of the script + 1, or 0 for none.
extern const uint32_t kScriptRuns[];
extern const size_t kScriptRunCount;

// Runs of code points of one age: the first << 2 | 0 for Unicode 8.0 and before, 1 for 9.0, 2 for
// later versions. What is not assigned is of any age.
extern const uint32_t kAgeRuns[];
extern const size_t kAgeRunCount;

// The category of a code point below 0x110000, by a table that the first call makes. Any thread.
Category CategoryOf(uint32_t code_point);
CharClass ClassOf(uint32_t code_point);

// White space, as \s has it.
bool IsSpace(uint32_t code_point);
// A decimal digit or another number, of Unicode 17.0.
bool IsNumeric(uint32_t code_point);
// \w of Rust: letters, marks, decimal and letter numbers, connectors such as _, and some others.
bool IsWordCharacter(uint32_t code_point);
// A mark of Unicode 9.0.
bool IsMark(uint32_t code_point);
// What BERT calls punctuation: that of Unicode 8.0, and all of ASCII that is neither letter, digit,
// white space nor control; what it calls a mark, nonspacing ones of Unicode 8.0; and a control.
bool IsBertPunctuation(uint32_t code_point);
bool IsBertMark(uint32_t code_point);
bool IsBertControl(uint32_t code_point);
// The number of a script of Unicode 9.0, in which those of Japanese are Han; 0 for a space and for
// what has no script.
uint32_t OldScriptOf(uint32_t code_point);

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

#endif  // MILLHOPPER_OPERATORS_TEXT_UNICODE_UNICODE_CLASSES_H_
