// SPDX-License-Identifier: Apache-2.0
#include "operators/text/unicode/unicode_classes.h"

#include <algorithm>
#include <iterator>

#include "operators/text/unicode/utf8.h"

namespace millhopper {
namespace {

constexpr std::array<CharClass, 256> MakeByteClasses() {
  std::array<CharClass, 256> classes{};
  for (size_t byte = 0; byte < classes.size(); ++byte) {
    const bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
    CharClass cls = letter ? CharClass::kLetter : CharClass::kOther;
    if (byte >= '0' && byte <= '9') cls = CharClass::kNumber;
    if (byte == ' ' || (byte >= '\t' && byte <= '\r')) cls = CharClass::kSpace;
    if (byte == '\r' || byte == '\n') cls = CharClass::kNewline;
    if (byte >= 0x80) cls = CharClass::kMultibyte;
    classes[byte] = cls;
  }
  return classes;
}

constexpr CharClass ClassOfCategory(Category category) {
  if (Has(kAnyLetter, category)) return CharClass::kLetter;
  if (Has(kAnyNumber, category)) return CharClass::kNumber;
  return Has(kAnySpace, category) ? CharClass::kSpace : CharClass::kOther;
}

// Above it nothing is a letter, a number or white space.
constexpr uint32_t kTableEnd = 0x32400;

// The value of a run that a code point lies in.
uint32_t FindRun(const uint32_t* runs, size_t count, int bits, uint32_t code_point) {
  const uint32_t mask = (1u << bits) - 1;
  return *(std::upper_bound(runs, runs + count, code_point << bits | mask) - 1) & mask;
}

Category FindCategory(uint32_t code_point) {
  return static_cast<Category>(FindRun(kCategoryRuns, kCategoryRunCount, 5, code_point));
}

// Whether it is of these categories, and not newer than an age of kAgeRuns.
bool HasSince(Categories categories, uint32_t age, uint32_t code_point) {
  return Has(categories, CategoryOf(code_point)) &&
         FindRun(kAgeRuns, kAgeRunCount, 2, code_point) <= age;
}

std::vector<Category> MakeCategories() {
  std::vector<Category> table;
  table.reserve(kTableEnd);
  for (size_t i = 0; i < kCategoryRunCount && table.size() < kTableEnd; ++i) {
    const uint32_t next = i + 1 < kCategoryRunCount ? kCategoryRuns[i + 1] >> 5 : kTableEnd;
    table.resize(std::min(next, kTableEnd), static_cast<Category>(kCategoryRuns[i] & 31));
  }
  return table;
}

std::vector<CharClass> MakeClasses() {
  std::vector<CharClass> table(kTableEnd);
  for (uint32_t point = 0; point < kTableEnd; ++point) {
    table[point] = ClassOfCategory(CategoryOf(point));
  }
  std::copy_n(kByteClasses.begin(), 0x80, table.begin());
  return table;
}

}  // namespace

const std::array<CharClass, 256> kByteClasses = MakeByteClasses();

Category CategoryOf(uint32_t code_point) {
  static const auto* const table = new std::vector<Category>(MakeCategories());
  return code_point < kTableEnd ? (*table)[code_point] : FindCategory(code_point);
}

CharClass ClassOf(uint32_t code_point) {
  static const auto* const table = new std::vector<CharClass>(MakeClasses());
  return code_point < kTableEnd ? (*table)[code_point] : CharClass::kOther;
}

bool IsSpace(uint32_t code_point) {
  return (code_point >= '\t' && code_point <= '\r') || Has(kAnySpace, CategoryOf(code_point));
}

bool IsNumeric(uint32_t code_point) {
  return Has(kAnyNumber, CategoryOf(code_point)) ||
         (code_point >= 0x11de0 && code_point <= 0x11de9) ||
         (code_point >= 0x16ff4 && code_point <= 0x16ff6);
}

bool IsMark(uint32_t code_point) {
  if (code_point == 0x1cf2 || code_point == 0x1cf3) return true;
  return code_point != 0x111c9 && HasSince(kAnyMark, 1, code_point);
}

bool IsBertPunctuation(uint32_t code_point) {
  if (code_point < 0x80) return Has(kAnyPunctuation | kAnySymbol, CategoryOf(code_point));
  return code_point == 0x166d || code_point == 0x111c9 || HasSince(kAnyPunctuation, 0, code_point);
}

bool IsBertMark(uint32_t code_point) {
  if (code_point == 0x1734 || code_point == 0x1171e) return true;
  const bool was_other =
      code_point == 0x1885 || code_point == 0x1886 || code_point == 0xa9bd || code_point == 0x111c9;
  return !was_other && HasSince(Only(Category::kMn), 0, code_point);
}

bool IsBertControl(uint32_t code_point) { return HasSince(kAnyControl, 0, code_point); }

uint32_t OldScriptOf(uint32_t code_point) {
  const auto script = [](uint32_t point) {
    return FindRun(kScriptRuns, kScriptRunCount, 8, point);
  };
  constexpr uint32_t kHan = 0x4e00, kHiragana = 0x3042, kKatakana = 0x30a2, kDevanagari = 0x904;
  if (code_point == 0x30fc) return script(kHan);  // which prolongs a vowel
  if (code_point == 0x589 || code_point == 0x61c) return script(',');
  if (code_point == 0x953 || code_point == 0x954) return script(kDevanagari);
  if (code_point == ' ' || FindRun(kAgeRuns, kAgeRunCount, 2, code_point) > 1) return 0;
  const uint32_t found = script(code_point);
  return found == script(kHiragana) || found == script(kKatakana) ? script(kHan) : found;
}

bool IsWordCharacter(uint32_t code_point) {
  if (Has(kAnyWord, CategoryOf(code_point))) return true;
  if (code_point == 0x200c || code_point == 0x200d) return true;  // joiners
  return std::any_of(std::begin(kAlphabeticSymbols), std::end(kAlphabeticSymbols),
                     [&](const auto& run) { return code_point >= run[0] && code_point <= run[1]; });
}

Character DecodeMultibyte(const uint8_t* here, const uint8_t* end) {
  constexpr Character kInvalid = {CharClass::kNone, 1};
  const uint32_t first = *here;
  const uint32_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || end - here < static_cast<ptrdiff_t>(length)) return kInvalid;
  uint32_t code_point = first & (0x7fu >> length);
  for (uint32_t i = 1; i < length; ++i) {
    if ((here[i] & 0xc0) != 0x80) return kInvalid;
    code_point = code_point << 6 | (here[i] & 0x3fu);
  }
  constexpr uint32_t kLowest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code_point < kLowest[length] || code_point > 0x10ffff ||
      (code_point >= 0xd800 && code_point < 0xe000)) {
    return kInvalid;
  }
  return {ClassOf(code_point), length};
}

const uint8_t* EndOfUtf8(const uint8_t* here, const uint8_t* end) {
  while (here != end) {
    if (*here < 0x80) {
      ++here;
      continue;
    }
    const Character next = DecodeMultibyte(here, end);
    if (next.cls == CharClass::kNone) break;
    here += next.length;
  }
  return here;
}

}  // namespace millhopper
