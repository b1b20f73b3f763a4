// SPDX-License-Identifier: Apache-2.0
// Reads JSON (RFC 8259) in place. Only values that are asked for are parsed; others are passed over
// by their quotes and brackets, whatever is in them. NaN, Infinity and -Infinity are numbers, as
// Python's json writes them.
#ifndef MILLHOPPER_READERS_FIELDS_JSON_TEXT_H_
#define MILLHOPPER_READERS_FIELDS_JSON_TEXT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace millhopper {

// What a value is, if it is one.
enum class JsonKind { kObject, kArray, kText, kBool, kNull, kNumber };

// A number as it is written: with a point or an exponent, NaN and infinite ones too, it is real.
struct JsonNumber {
  enum class Kind {
    kInteger,
    kUnsigned,  // a whole one that an int64 does not hold
    kLarge,     // a whole one that no integer of 64 bits holds
    kReal,
  };

  Kind kind = Kind::kInteger;
  int64_t integer = 0;
  uint64_t unsigned_integer = 0;
  double real = 0;         // of large ones, too; infinite if no double holds it
  bool too_large = false;  // whether no double holds it
};

// Goes through a text. A value is a pointer to its first byte, which a function of the same text
// has returned. Functions throw kDataLoss, "a comma or } is missing at byte 17", for text that is
// no JSON. Immutable; any thread.
class JsonText {
 public:
  // The text must outlive this.
  explicit JsonText(std::string_view text) : begin_(text.data()), end_(text.data() + text.size()) {}

  // The value that the text is. Only Skip tells whether there is one, and where it ends.
  const char* root() const { return AfterBlanks(begin_); }
  // Throws unless nothing but blanks follows.
  void CheckEnd(const char* here) const;

  // Passes over a value. Returns where it ends.
  const char* Skip(const char* value) const {
    const char first = At(value);
    if (first == '"') return EndOfText(value);
    return first == '{' || first == '[' ? EndOfNested(value) : EndOfScalar(value);
  }
  // The same, but throws also unless all that is in it is JSON.
  const char* Check(const char* value) const;
  // Calls member(key, value) for each member of an object, in order; it returns where the value
  // ends. A key is as it is written, without the quotes (see DecodeJson). Returns where the object
  // ends.
  template <typename Member>
  const char* ForEachMember(const char* object, const Member& member) const {
    const char* here = AfterBlanks(object + 1);
    if (At(here) == '}') return here + 1;
    for (;;) {
      if (At(here) != '"') Fail("a key in quotes is missing", here);
      const char* const key_end = EndOfText(here);
      const std::string_view key(here + 1, static_cast<size_t>(key_end - here) - 2);
      here = AfterBlanks(key_end);
      if (At(here) != ':') Fail("a colon is missing", here);
      here = AfterBlanks(member(key, AfterBlanks(here + 1)));
      if (At(here) == '}') return here + 1;
      if (At(here) != ',') Fail("a comma or } is missing", here);
      here = AfterBlanks(here + 1);
    }
  }
  // Calls item(value) for each item of an array, in order; it returns where the value ends. Returns
  // where the array ends.
  template <typename Item>
  const char* ForEachItem(const char* array, const Item& item) const {
    const char* here = AfterBlanks(array + 1);
    if (At(here) == ']') return here + 1;
    for (;;) {
      here = AfterBlanks(item(here));
      if (At(here) == ']') return here + 1;
      if (At(here) != ',') Fail("a comma or ] is missing", here);
      here = AfterBlanks(here + 1);
    }
  }

  bool IsObject(const char* value) const { return At(value) == '{'; }
  bool IsArray(const char* value) const { return At(value) == '['; }
  // By its first byte.
  JsonKind KindOf(const char* value) const;
  // What a text is between its quotes, as it is written.
  std::string_view TextAt(const char* value) const {
    return {value + 1, static_cast<size_t>(EndOfText(value) - value) - 2};
  }
  // Throws "'tru' is no value of JSON", and the others likewise.
  bool BoolAt(const char* value) const;
  bool IsNull(const char* value) const;
  // Reads a number. Returns where it ends.
  const char* ReadNumber(const char* value, JsonNumber* number) const {
    // Most are short whole ones.
    const char* here = value;
    const bool negative = At(here) == '-';
    if (negative) ++here;
    const char* const digits = here;
    int64_t integer = 0;
    while (here < end_ && static_cast<unsigned char>(*here - '0') < 10) {
      integer = static_cast<int64_t>(10 * static_cast<uint64_t>(integer) +
                                     static_cast<uint64_t>(*here++ - '0'));
    }
    const auto size = here - digits;
    if (size < 1 || size > 18 || (*digits == '0' && size > 1) || !EndsScalar(here)) {
      return ReadAnyNumber(value, number);
    }
    number->kind = JsonNumber::Kind::kInteger;
    number->integer = negative ? -integer : integer;
    return here;
  }
  // A value that is neither text nor in brackets, as it is written.
  std::string_view ScalarAt(const char* value) const {
    return {value, static_cast<size_t>(EndOfScalar(value) - value)};
  }

  size_t OffsetOf(const char* here) const { return static_cast<size_t>(here - begin_); }
  [[noreturn]] void Fail(const char* problem, const char* here) const;

 private:
  char At(const char* here) const { return here < end_ ? *here : '\0'; }
  const char* AfterBlanks(const char* here) const {
    while (here < end_ && IsBlank(*here)) ++here;
    return here;
  }
  static bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
  // What follows a value, and what cannot be in one that has no quotes and brackets.
  bool EndsScalar(const char* here) const {
    return here == end_ || kEndsScalar[static_cast<unsigned char>(*here)];
  }
  static constexpr std::array<bool, 256> kEndsScalar = [] {
    std::array<bool, 256> ends{};
    for (const unsigned char c : {',', ']', '}', ' ', '\t', '\n', '\r', ':', '"', '{', '['}) {
      ends[c] = true;
    }
    return ends;
  }();

  const char* EndOfText(const char* quote) const;
  const char* EndOfNested(const char* bracket) const;
  const char* EndOfScalar(const char* value) const;
  const char* CheckWithin(const char* value) const;
  const char* ReadAnyNumber(const char* value, JsonNumber* number) const;

  const char* const begin_;
  const char* const end_;
};

// What a text, or a key, that is written so stands for: sets *text to it as it is if there is no
// escape in it, else to what is appended to *room, whose capacity must be enough for the whole of
// it. Returns null, or what is wrong: a control character, bytes that are no UTF-8, an escape that
// is none, or half of a surrogate pair.
const char* DecodeJson(std::string_view written, std::string* room, std::string_view* text);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FIELDS_JSON_TEXT_H_
