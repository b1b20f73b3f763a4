// SPDX-License-Identifier: Apache-2.0
#include "readers/fields/json_text.h"

#include <fast_float/fast_float.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "framework/base/error.h"
#include "readers/support/text_file.h"
#include "readers/support/utf8.h"

namespace millhopper {
namespace {

// Objects and arrays within each other.
constexpr size_t kMostNested = 1024;

// Bytes by which the end of an object or array is found.
constexpr std::array<bool, 256> BytesThatMatter() {
  std::array<bool, 256> matter{};
  for (const unsigned char c : {'"', '{', '}', '[', ']'}) matter[c] = true;
  return matter;
}
constexpr std::array<bool, 256> kMatters = BytesThatMatter();

// Whether one of eight bytes is one of those. Brackets differ from braces by 0x20.
bool AnyMatters(const char* eight) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  const auto has_zero = [](uint64_t bytes) {
    return ((bytes - kOnes) & ~bytes & (kOnes << 7)) != 0;
  };
  uint64_t bytes;
  std::memcpy(&bytes, eight, sizeof(bytes));
  const uint64_t braces = bytes | (kOnes * 0x20);
  return has_zero(bytes ^ (kOnes * '"')) || has_zero(braces ^ (kOnes * '{')) ||
         has_zero(braces ^ (kOnes * '}'));
}

// The first byte that matters from here on; the end if there is none.
const char* NextThatMatters(const char* here, const char* end) {
  while (end - here >= 8 && !AnyMatters(here)) here += 8;
  while (here < end && !kMatters[static_cast<unsigned char>(*here)]) ++here;
  return here;
}

[[noreturn]] void NoValue(std::string_view text) {
  Throw(ErrorCode::kDataLoss, "'", Shown(text), "' is no value of JSON");
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Where the digits from here on end.
const char* AfterDigits(const char* here, const char* end) {
  while (here < end && IsDigit(*here)) ++here;
  return here;
}

// Reads a number that begins with a digit or a minus and a digit. Returns where it ends.
const char* ReadReal(const char* value, const char* end, JsonNumber* number) {
  end = fast_float::from_chars(value, end, number->real).ptr;
  number->too_large = std::isinf(number->real);
  return end;
}

// Null if all bytes are those of a text between its quotes.
const char* ProblemOf(std::string_view text) {
  const char* here = text.data();
  const char* const end = here + text.size();
  while (here < end) {
    if (end - here >= 8) {  // letters of ASCII are most
      uint64_t bytes;
      std::memcpy(&bytes, here, sizeof(bytes));
      constexpr uint64_t kHigh = 0x8080808080808080;
      if (((bytes | (bytes - 0x2020202020202020)) & kHigh) == 0) {
        here += 8;
        continue;
      }
    }
    const auto byte = static_cast<unsigned char>(*here);
    if (byte < 0x20) return "it has a control character, which JSON writes as an escape";
    const size_t size = byte < 0x80 ? 1 : BytesOfUtf8(here, end);
    if (size == 0) return "it has bytes that are no UTF-8";
    here += size;
  }
  return nullptr;
}

// Reads the four digits of an escape such as \u00e9; -1 if they are none.
int32_t CodeUnit(const char* here, const char* end) {
  int32_t unit = -1;
  if (end - here < 4) return -1;
  const auto read = std::from_chars(here, here + 4, unit, 16);
  return read.ptr == here + 4 && *here != '-' ? unit : -1;
}

void AppendUtf8(uint32_t code, std::string* out) {
  const auto append = [out](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (code < 0x80) return append(code);
  if (code < 0x800) {
    append(0xc0 | code >> 6);
  } else {
    if (code < 0x10000) {
      append(0xe0 | code >> 12);
    } else {
      append(0xf0 | code >> 18);
      append(0x80 | (code >> 12 & 0x3f));
    }
    append(0x80 | (code >> 6 & 0x3f));
  }
  append(0x80 | (code & 0x3f));
}

// Appends what an escape stands for, from after its backslash on, and moves *here after it.
const char* AppendEscaped(const char** here, const char* end, std::string* out) {
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
  const char letter = *(*here)++;  // EndOfText has seen that there is one
  const size_t known = kLetters.find(letter);
  if (known != kLetters.npos) {
    out->push_back(kMeant[known]);
    return nullptr;
  }
  const int32_t unit = letter == 'u' ? CodeUnit(*here, end) : -1;
  if (unit < 0) return "it has an escape that JSON does not know";
  *here += 4;
  if (unit < 0xd800 || unit > 0xdfff) {
    AppendUtf8(static_cast<uint32_t>(unit), out);
    return nullptr;
  }
  const bool has_other = end - *here >= 6 && (*here)[0] == '\\' && (*here)[1] == 'u';
  const int32_t other = has_other ? CodeUnit(*here + 2, end) : -1;
  if (unit > 0xdbff || other < 0xdc00 || other > 0xdfff) {
    return "it has half of a surrogate pair, which is no character";
  }
  *here += 6;
  AppendUtf8(static_cast<uint32_t>(0x10000 + ((unit - 0xd800) << 10) + (other - 0xdc00)), out);
  return nullptr;
}

}  // namespace

void JsonText::Fail(const char* problem, const char* here) const {
  Throw(ErrorCode::kDataLoss, problem, " at byte ", OffsetOf(here));
}

void JsonText::CheckEnd(const char* here) const {
  here = AfterBlanks(here);
  if (here != end_) Fail("something follows the value", here);
}

const char* JsonText::EndOfText(const char* quote) const {
  const char* const first = quote + 1;
  for (const char* from = first;;) {
    const auto* const found =
        static_cast<const char*>(std::memchr(from, '"', static_cast<size_t>(end_ - from)));
    if (found == nullptr) Fail("no quote closes the text", quote);
    const char* escapes = found;  // an odd number of backslashes makes a quote a part of the text
    while (escapes > first && escapes[-1] == '\\') --escapes;
    if ((found - escapes) % 2 == 0) return found + 1;
    from = found + 1;
  }
}

const char* JsonText::EndOfNested(const char* bracket) const {
  char closing[kMostNested];  // of what is open
  size_t open = 0;
  for (const char* here = bracket; here < end_;) {
    here = NextThatMatters(here, end_);
    if (here == end_) break;
    const char c = *here;
    if (c == '"') {
      here = EndOfText(here);
    } else if (c == '{' || c == '[') {
      if (open == kMostNested)
        Fail("more than 1024 objects and arrays lie within each other", here);
      closing[open++] = c == '{' ? '}' : ']';
      ++here;
    } else {
      if (c != closing[--open]) Fail("a bracket is closed by one of another kind", here);
      ++here;
      if (open == 0) return here;
    }
  }
  Fail("no bracket closes the one", bracket);
}

const char* JsonText::EndOfScalar(const char* value) const {
  const char* here = value;
  while (!EndsScalar(here)) ++here;
  if (here == value) Fail("a value is missing", value);
  return here;
}

const char* JsonText::Check(const char* value) const {
  Skip(value);  // so that it is not nested too deep for calls within calls
  return CheckWithin(value);
}

const char* JsonText::CheckWithin(const char* value) const {
  const auto check_text = [](std::string_view written) {
    std::string room;
    std::string_view text;
    if (written.find('\\') != std::string_view::npos) room.reserve(written.size());
    const char* const problem = DecodeJson(written, &room, &text);
    if (problem != nullptr) Throw(ErrorCode::kDataLoss, problem);
  };
  JsonNumber number;
  switch (KindOf(value)) {
    case JsonKind::kObject:
      return ForEachMember(value, [&](std::string_view key, const char* member) {
        check_text(key);
        return CheckWithin(member);
      });
    case JsonKind::kArray:
      return ForEachItem(value, [this](const char* item) { return CheckWithin(item); });
    case JsonKind::kText:
      check_text(TextAt(value));
      return EndOfText(value);
    case JsonKind::kBool:
      BoolAt(value);
      return EndOfScalar(value);
    case JsonKind::kNull:
      IsNull(value);
      return EndOfScalar(value);
    case JsonKind::kNumber:
      return ReadNumber(value, &number);
  }
  return value;
}

JsonKind JsonText::KindOf(const char* value) const {
  switch (At(value)) {
    case '{':
      return JsonKind::kObject;
    case '[':
      return JsonKind::kArray;
    case '"':
      return JsonKind::kText;
    case 't':
    case 'f':
      return JsonKind::kBool;
    case 'n':
      return JsonKind::kNull;
    default:
      return JsonKind::kNumber;
  }
}

bool JsonText::BoolAt(const char* value) const {
  const std::string_view text = ScalarAt(value);
  if (text != "true" && text != "false") NoValue(text);
  return text == "true";
}

bool JsonText::IsNull(const char* value) const {
  if (At(value) != 'n') return false;
  const std::string_view text = ScalarAt(value);
  if (text != "null") NoValue(text);
  return true;
}

const char* JsonText::ReadAnyNumber(const char* value, JsonNumber* number) const {
  number->too_large = false;
  const char* const digits = At(value) == '-' ? value + 1 : value;
  const char* const end = AfterDigits(digits, end_);  // of the whole part
  const bool begins = end > digits && (*digits != '0' || end - digits == 1);
  if (begins && EndsScalar(end)) {
    if (std::from_chars(value, end, number->integer).ec == std::errc()) {
      number->kind = JsonNumber::Kind::kInteger;
    } else if (digits == value &&
               std::from_chars(value, end, number->unsigned_integer).ec == std::errc()) {
      number->kind = JsonNumber::Kind::kUnsigned;
    } else {
      ReadReal(value, end, number);
      number->kind = JsonNumber::Kind::kLarge;
    }
    return end;
  }
  number->kind = JsonNumber::Kind::kReal;
  // fast_float takes "1.", too.
  if (begins && (At(end) != '.' || IsDigit(At(end + 1)))) {
    const char* const real_end = ReadReal(value, end_, number);
    if (EndsScalar(real_end)) return real_end;
  }
  const std::string_view text = ScalarAt(value);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (text == "NaN") {
    number->real = std::numeric_limits<double>::quiet_NaN();
  } else if (text == "Infinity" || text == "-Infinity") {
    number->real = text.front() == '-' ? -kInfinity : kInfinity;
  } else {
    NoValue(text);
  }
  return text.data() + text.size();
}

const char* DecodeJson(std::string_view written, std::string* room, std::string_view* text) {
  *text = written;
  const char* const problem = ProblemOf(written);
  if (problem != nullptr || written.find('\\') == std::string_view::npos) return problem;
  const size_t begin = room->size();
  const char* here = written.data();
  const char* const end = here + written.size();
  while (here < end) {
    const auto* stop =
        static_cast<const char*>(std::memchr(here, '\\', static_cast<size_t>(end - here)));
    if (stop == nullptr) stop = end;
    room->append(here, stop);
    here = stop;
    if (here == end) break;
    ++here;
    const char* const wrong = AppendEscaped(&here, end, room);
    if (wrong != nullptr) return wrong;
  }
  *text = std::string_view(*room).substr(begin);
  return nullptr;
}

}  // namespace millhopper
