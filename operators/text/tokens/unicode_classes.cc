// SPDX-License-Identifier: Apache-2.0
#include "operators/text/tokens/unicode_classes.h"

#include <algorithm>

namespace millhopper {
namespace {

// The property White_Space beyond ASCII.
constexpr CodePointRange kSpaces[] = {{0x85, 0x85},     {0xa0, 0xa0},     {0x1680, 0x1680},
                                      {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f},
                                      {0x205f, 0x205f}, {0x3000, 0x3000}};

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

// The classes of all code points up to the last letter, number or space.
std::vector<CharClass> MakeTable() {
  uint32_t last = 0;
  for (const auto* ranges : {&LetterRanges(), &NumberRanges()}) {
    last = std::max(last, ranges->back().last);
  }
  std::vector<CharClass> table(last + size_t{1}, CharClass::kOther);
  const auto mark = [&table](const CodePointRange& range, CharClass cls) {
    std::fill(table.begin() + range.first, table.begin() + range.last + 1, cls);
  };
  for (const CodePointRange& range : LetterRanges()) mark(range, CharClass::kLetter);
  for (const CodePointRange& range : NumberRanges()) mark(range, CharClass::kNumber);
  for (const CodePointRange& range : kSpaces) mark(range, CharClass::kSpace);
  std::copy_n(kByteClasses.begin(), 0x80, table.begin());
  return table;
}

}  // namespace

const std::array<CharClass, 256> kByteClasses = MakeByteClasses();

CharClass ClassOf(uint32_t code_point) {
  static const auto* const table = new std::vector<CharClass>(MakeTable());
  return code_point < table->size() ? (*table)[code_point] : CharClass::kOther;
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

}  // namespace millhopper
