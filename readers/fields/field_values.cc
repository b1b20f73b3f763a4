// SPDX-License-Identifier: Apache-2.0
// How text and numbers become the values of a field.
#include <fast_float/fast_float.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "framework/base/error.h"
#include "framework/memory/memory.h"
#include "readers/fields/fields.h"
#include "readers/fields/number_text.h"
#include "readers/fields/timestamp.h"
#include "readers/support/text_file.h"

namespace millhopper {
namespace {

template <typename T>
void Put(T value, char* place) {
  std::memcpy(place, &value, sizeof(value));
}

// --- From text ---

// The readers of most numbers are compiled into the loop over cells (ReadCellsBy).

// Digits after a plus sign are a number, too; std::from_chars and fast_float take a minus only.
const char* AfterPlus(const char* begin, const char* end) {
  return end - begin > 1 && *begin == '+' && begin[1] != '-' ? begin + 1 : begin;
}

template <typename T>
const char* ReadInteger(const Field& field, const char* begin, const char* end, char* place) {
  T value;
  const auto read = std::from_chars(AfterPlus(begin, end), end, value, field.base);
  if (read.ec != std::errc()) return nullptr;
  Put(value, place);
  return read.ptr;
}

// The decimal digits that eight bytes begin with. All of them are looked at together: how many
// there are changes from number to number, so that a branch for each would often be guessed wrong.
struct Digits {
  size_t count;
  uint64_t value;
};

[[gnu::always_inline]] inline Digits FirstDigits(const char* eight_bytes) {
  uint64_t bytes;
  std::memcpy(&bytes, eight_bytes, sizeof(bytes));
  uint64_t digits = bytes ^ 0x3030303030303030;
  // A byte of more than 9 gets its highest bit. It may change what lies after it, never before.
  const uint64_t others = ((digits + 0x7676767676767676) | digits) & 0x8080808080808080;
  const size_t count = others == 0 ? 8 : static_cast<size_t>(__builtin_ctzll(others)) / 8;
  if (count == 0) return {0, 0};
  digits <<= 64 - 8 * count;  // zeros go before the number
  digits = (10 * digits + (digits >> 8)) & 0x00ff00ff00ff00ff;
  digits = (100 * digits + (digits >> 16)) & 0x0000ffff0000ffff;
  return {count, (10000 * digits + (digits >> 32)) & 0xffffffff};
}

// Decimal numbers are most of all numbers, and short.
template <typename T>
[[gnu::always_inline]] inline const char* ReadDecimal(const Field& field, const char* begin,
                                                      const char* end, char* place) {
  const char* here = begin;
  const bool negative = std::is_signed_v<T> && here < end && *here == '-';
  if (negative) ++here;
  const char* const digits = here;
  uint64_t value = 0;
  if (end - here >= 8) {
    const Digits first = FirstDigits(here);
    value = first.value;
    here += first.count;
  }
  for (; here < end && static_cast<unsigned char>(*here - '0') < 10; ++here) {
    value = 10 * value + static_cast<unsigned char>(*here - '0');
  }
  // These many digits fit T, whatever they are.
  if (here == digits || here - digits > std::numeric_limits<T>::digits10) {
    return ReadInteger<T>(field, begin, end, place);
  }
  Put(static_cast<T>(negative ? 0 - value : value), place);
  return here;
}

// Eight bits a byte: the value of a hexadecimal digit, or 255.
struct HexDigits {
  unsigned char value[256];
  constexpr HexDigits() : value() {
    for (int i = 0; i < 256; ++i) value[i] = 255;
    for (int i = 0; i < 10; ++i) value['0' + i] = static_cast<unsigned char>(i);
    for (int i = 0; i < 6; ++i) {
      value['a' + i] = static_cast<unsigned char>(10 + i);
      value['A' + i] = static_cast<unsigned char>(10 + i);
    }
  }
};
constexpr HexDigits kHexDigits;

// Reads eight hexadecimal digits, all of them together. False if one of the bytes is none.
[[gnu::always_inline]] inline bool ReadEightHexDigits(const char* eight_bytes, uint64_t* value) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  uint64_t bytes;
  std::memcpy(&bytes, eight_bytes, sizeof(bytes));
  const uint64_t letter = bytes >> 6 & kOnes;  // of each byte, 1 if it is no digit of 0 to 9
  const uint64_t low = bytes & 0x0f * kOnes;
  const uint64_t high = bytes & 0xf0 * kOnes & ~(letter << 5);  // small letters as capital ones
  uint64_t wrong = high ^ (0x30 * kOnes + (letter << 4));       // '0' is 0x30, 'A' is 0x41
  wrong |= (low + 6 * kOnes + 3 * letter) & 0x10 * kOnes;       // at most 9, or 'F'
  wrong |= letter & ~((low + 15 * kOnes) >> 4);                 // at least 'A'
  uint64_t digits = low + 9 * letter;
  // The first byte is the lowest of the integer, and its digit the highest of the number.
  digits = (digits << 4 | digits >> 8) & 0x00ff00ff00ff00ff;
  digits = (digits << 8 | digits >> 16) & 0x0000ffff0000ffff;
  *value = (digits << 16 | digits >> 32) & 0xffffffff;
  return wrong == 0;
}

template <typename T>
[[gnu::always_inline]] inline const char* ReadHexadecimal(const Field& field, const char* begin,
                                                          const char* end, char* place) {
  const auto digit = [](const char* at) -> uint64_t {
    return kHexDigits.value[static_cast<unsigned char>(*at)];
  };
  // Most are hashes of 32 bits.
  if constexpr (sizeof(T) == 8) {
    uint64_t value;
    if (end - begin >= 8 && (end - begin == 8 || digit(begin + 8) > 15) &&
        ReadEightHexDigits(begin, &value)) {
      Put(static_cast<T>(value), place);
      return begin + 8;
    }
  }
  const char* here = begin;
  uint64_t value = 0;
  for (; here < end && digit(here) <= 15; ++here) value = value << 4 | digit(here);
  if (here == begin || 4 * (here - begin) > std::numeric_limits<T>::digits) {
    return ReadInteger<T>(field, begin, end, place);
  }
  Put(static_cast<T>(value), place);
  return here;
}

const char* ReadBool(const Field& field, const char* begin, const char* end, char* place) {
  using Words = Field::Words;
  static constexpr struct {
    std::string_view text;
    bool value;
    Words words;
  } kWords[] = {{"true", true, Words::kTrueFalse}, {"false", false, Words::kTrueFalse},
                {"True", true, Words::kTrueFalse}, {"False", false, Words::kTrueFalse},
                {"TRUE", true, Words::kTrueFalse}, {"FALSE", false, Words::kTrueFalse},
                {"1", true, Words::kAny},          {"0", false, Words::kAny},
                {"yes", true, Words::kYesNo},      {"no", false, Words::kYesNo},
                {"Yes", true, Words::kYesNo},      {"No", false, Words::kYesNo},
                {"YES", true, Words::kYesNo},      {"NO", false, Words::kYesNo},
                {"t", true, Words::kTF},           {"f", false, Words::kTF},
                {"T", true, Words::kTF},           {"F", false, Words::kTF},
                {"y", true, Words::kYN},           {"n", false, Words::kYN},
                {"Y", true, Words::kYN},           {"N", false, Words::kYN}};
  const bool takes_any = field.words == Words::kAny && !field.exact;
  const Words only = field.words == Words::kAny ? Words::kTrueFalse : field.words;
  const std::string_view text(begin, static_cast<size_t>(end - begin));
  for (const auto& word : kWords) {
    if (text.substr(0, word.text.size()) != word.text) continue;
    if (!takes_any && word.words != only) continue;
    *place = word.value ? 1 : 0;
    return begin + word.text.size();
  }
  return nullptr;
}

// Puts a number times the scale. False for one that the type cannot hold: it would become infinite.
bool PutNearest(const Field& field, double number, char* place) {
  const DataType type = field.slot.dtype;
  const double value = number * field.scale;
  if (type == DataType::kFp64) {
    Put(value, place);
    return !std::isinf(value) || std::isinf(number);
  }
  auto rounded = static_cast<float>(value);
  if (type == DataType::kFp16) {
    const uint16_t half = FloatToFp16(rounded);
    Put(half, place);
    rounded = Fp16ToFloat(half);
  } else if (type == DataType::kBf16) {
    const uint16_t half = FloatToBf16(rounded);
    Put(half, place);
    rounded = Bf16ToFloat(half);
  } else {
    Put(rounded, place);
  }
  return !std::isinf(rounded) || std::isinf(number);
}

// The float that was put there.
double FloatAt(const Field& field, const char* place) {
  uint16_t half = 0;
  float single = 0;
  double number = 0;
  switch (field.slot.dtype) {
    case DataType::kFp16:
      std::memcpy(&half, place, sizeof(half));
      return double{Fp16ToFloat(half)};
    case DataType::kBf16:
      std::memcpy(&half, place, sizeof(half));
      return double{Bf16ToFloat(half)};
    case DataType::kFp32:
      std::memcpy(&single, place, sizeof(single));
      return double{single};
    default:
      std::memcpy(&number, place, sizeof(number));
      return number;
  }
}

// What is asked for by a scale is no number that was there.
bool MustBeExact(const Field& field) { return field.exact && field.scale == 1; }

// The same, and false for a number that the type of an exact field rounds.
bool PutFloat(const Field& field, double number, char* place) {
  if (!PutNearest(field, number, place)) return false;
  return !MustBeExact(field) || std::isnan(number) || FloatAt(field, place) == number;
}

template <typename T>
const char* ReadFloat(const char* begin, const char* end, T* value) {
  begin = AfterPlus(begin, end);
  const auto read = fast_float::from_chars(begin, end, *value);
  if (read.ec != std::errc()) return nullptr;
  // Digits of which the type can make nothing but what "inf" stands for.
  if (std::isinf(*value) && (read.ptr[-1] | 0x20) != 'f' && (read.ptr[-1] | 0x20) != 'y') {
    return nullptr;
  }
  return read.ptr;
}

[[gnu::always_inline]] inline const char* ReadFloat32(const Field&, const char* begin,
                                                      const char* end, char* place) {
  // Whole numbers of a few digits are many.
  if (end - begin >= 8) {
    const Digits whole = FirstDigits(begin);
    const char* const stop = begin + whole.count;
    if (whole.count > 0 && whole.count < 8 && *stop != '.' && (*stop | 0x20) != 'e') {
      Put(static_cast<float>(static_cast<uint32_t>(whole.value)), place);
      return stop;
    }
  }
  float value;
  const char* const read = ReadFloat(begin, end, &value);
  if (read != nullptr) Put(value, place);
  return read;
}

const char* ReadAnyFloat(const Field& field, const char* begin, const char* end, char* place) {
  double value;
  const char* const read = ReadFloat(begin, end, &value);
  return read != nullptr && PutNearest(field, value, place) ? read : nullptr;
}

// The readers of exact fields.

template <typename T>
[[gnu::always_inline]] inline const char* ReadExactDecimal(const Field& field, const char* begin,
                                                           const char* end, char* place) {
  const char* const read = ReadDecimal<T>(field, begin, end, place);
  if (read == nullptr || HasLeadingZero({begin, static_cast<size_t>(read - begin)})) return nullptr;
  return read;
}

FloatLimits LimitsOf(DataType type) {
  constexpr double kLeastNormal = std::numeric_limits<float>::min();  // of bf16, too
  switch (type) {
    case DataType::kFp16:
      return {3, 0x1p-14};
    case DataType::kBf16:
      return {2, kLeastNormal};
    case DataType::kFp32:
      return {std::numeric_limits<float>::digits10, kLeastNormal};
    default:
      return {};
  }
}

const char* ReadExactFloat(const Field& field, const char* begin, const char* end, char* place) {
  double value;
  const char* const read = ReadFloat(begin, end, &value);
  if (read == nullptr || !PutNearest(field, value, place)) return nullptr;
  const std::string_view text(begin, static_cast<size_t>(read - begin));
  const bool keeps = KeepsDigits(text, FloatAt(field, place), LimitsOf(field.slot.dtype));
  return keeps && !HasLeadingZero(text) ? read : nullptr;
}

template <typename T>
const char* ReadHash(const Field& field, const char* begin, const char* end, char* place) {
  const std::string_view text(begin, static_cast<size_t>(end - begin));
  Put(static_cast<T>(HashBucket(text, field.buckets)), place);
  return end;
}

template <typename T>
const char* ReadWord(const Field& field, const char* begin, const char* end, char* place) {
  const std::string_view word(begin, static_cast<size_t>(end - begin));
  const int64_t line = field.vocabulary->Find(word);
  if (line >= 0) {
    Put(static_cast<T>(line), place);
  } else if (field.fills_gaps()) {
    field.WriteDefault(1, place);
  } else {
    Throw(ErrorCode::kDataLoss, "'", Shown(word), "' is no word of its vocabulary");
  }
  return end;
}

const char* ReadTimestamp(const Field& field, const char* begin, const char* end, char* place) {
  const std::string_view text(begin, static_cast<size_t>(end - begin));
  int64_t ticks;
  if (ParseTimestamp(text, field.time_format, field.ticks_per_day, &ticks) != nullptr) {
    return nullptr;
  }
  Put(ticks, place);
  return end;
}

// A Field::CellsReader, with the reader of one value compiled into it.
template <Field::Reader kRead, size_t kSize>
size_t ReadCellsBy(const Field& field, const char** begin, const char* end, char delimiter,
                   size_t n, char* place) {
  for (size_t i = 0; i < n; ++i, place += kSize) {
    const char* stop = *begin;
    if (stop != end && *stop != delimiter) {
      stop = kRead(field, stop, end, place);
      if (stop == nullptr) return i;
    } else if (field.missing == Field::Missing::kDefault && !field.mask) {
      std::memcpy(place, field.default_value_, kSize);
    } else {
      return i;
    }
    if (stop == end) {
      *begin = nullptr;
      return i + 1;
    }
    if (*stop != delimiter) return i;
    *begin = stop + 1;
  }
  return n;
}

template <Field::Reader kRead, size_t kSize>
void SetReader(Field* field) {
  field->read_ = kRead;
  field->read_cells_ = ReadCellsBy<kRead, kSize>;
}

template <typename T>
void SetIntegerReader(Field* field) {
  if (field->buckets > 0) {
    field->read_ = ReadHash<T>;
  } else if (field->vocabulary != nullptr) {
    field->read_ = ReadWord<T>;
  } else if (field->decode == Field::Decode::kTimestamp) {
    field->read_ = ReadTimestamp;
  } else if (field->base == 10 && field->exact) {
    SetReader<ReadExactDecimal<T>, sizeof(T)>(field);
  } else if (field->base == 10) {
    SetReader<ReadDecimal<T>, sizeof(T)>(field);
  } else if (field->base == 16) {
    SetReader<ReadHexadecimal<T>, sizeof(T)>(field);
  } else {
    SetReader<ReadInteger<T>, sizeof(T)>(field);
  }
}

// --- From numbers ---

[[noreturn]] void OutOfRange(const Field& field, const std::string& number,
                             bool is_rounded = false) {
  Throw(ErrorCode::kDataLoss, number, " is no ", ToString(field.slot.dtype),
        is_rounded ? " without rounding, as numbers \"exact\" asks and \"nearest\" does not" : "");
}

template <typename T, typename Number>
void WriteAs(const Field& field, Number number, char* place) {
  const auto value = static_cast<T>(number);
  // A number of the other sign may come back as it was.
  if (static_cast<Number>(value) != number || (value < 0) != (number < 0)) {
    OutOfRange(field, StrCat(number));
  }
  Put(value, place);
}

// Whether a float64 holds an integer.
template <typename Number>
bool IsFloat64(Number number) {
  const auto value = static_cast<double>(number);
  constexpr auto kMost = static_cast<double>(std::numeric_limits<Number>::max());  // rounded up
  return value < kMost && static_cast<Number>(value) == number;
}

// Number is int64_t or uint64_t.
template <typename Number>
void WriteInteger(const Field& field, Number number, char* place) {
  switch (field.slot.dtype) {
    case DataType::kBool:
      if (number != 0 && number != 1) OutOfRange(field, StrCat(number));
      *place = static_cast<char>(number);
      return;
    case DataType::kInt8:
      return WriteAs<int8_t>(field, number, place);
    case DataType::kUint8:
      return WriteAs<uint8_t>(field, number, place);
    case DataType::kInt16:
      return WriteAs<int16_t>(field, number, place);
    case DataType::kInt32:
      return WriteAs<int32_t>(field, number, place);
    case DataType::kInt64:
      return WriteAs<int64_t>(field, number, place);
    case DataType::kUint16:
      return WriteAs<uint16_t>(field, number, place);
    case DataType::kUint32:
      return WriteAs<uint32_t>(field, number, place);
    case DataType::kUint64:
      return WriteAs<uint64_t>(field, number, place);
    case DataType::kFp16:
    case DataType::kBf16:
    case DataType::kFp32:
    case DataType::kFp64:
      if (!PutFloat(field, static_cast<double>(number), place) ||
          (MustBeExact(field) && !IsFloat64(number))) {
        OutOfRange(field, StrCat(number), PutNearest(field, static_cast<double>(number), place));
      }
  }
}

}  // namespace

std::string_view WithoutSpaces(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

void Field::SetReaders() {
  switch (slot.dtype) {
    case DataType::kBool:
      return SetReader<ReadBool, 1>(this);
    case DataType::kInt8:
      return SetIntegerReader<int8_t>(this);
    case DataType::kUint8:
      return SetIntegerReader<uint8_t>(this);
    case DataType::kInt16:
      return SetIntegerReader<int16_t>(this);
    case DataType::kInt32:
      return SetIntegerReader<int32_t>(this);
    case DataType::kInt64:
      return SetIntegerReader<int64_t>(this);
    case DataType::kUint16:
      return SetIntegerReader<uint16_t>(this);
    case DataType::kUint32:
      return SetIntegerReader<uint32_t>(this);
    case DataType::kUint64:
      return SetIntegerReader<uint64_t>(this);
    case DataType::kFp32:
      if (MustBeExact(*this)) return SetReader<ReadExactFloat, 4>(this);
      if (scale == 1) return SetReader<ReadFloat32, 4>(this);
      return SetReader<ReadAnyFloat, 4>(this);
    case DataType::kFp64:
      if (MustBeExact(*this)) return SetReader<ReadExactFloat, 8>(this);
      return SetReader<ReadAnyFloat, 8>(this);
    case DataType::kFp16:
    case DataType::kBf16:
      if (MustBeExact(*this)) return SetReader<ReadExactFloat, 2>(this);
      return SetReader<ReadAnyFloat, 2>(this);
  }
}

void Field::ReadAll(std::string_view text, char* place) const {
  if (IsNull(text)) {
    if (!fills_gaps()) ThrowNull(text);
    return WriteDefault(1, place);
  }
  const std::string_view value = names_things() ? text : WithoutSpaces(text);
  const char* const end = value.data() + value.size();
  if (Read(value.data(), end, place) == end && (!value.empty() || names_things())) return;
  if (decode == Decode::kTimestamp) {
    int64_t ticks;
    const std::string format =
        time_format.empty() ? "" : StrCat(" of format=\"", Escaped(time_format), "\"");
    Throw(ErrorCode::kDataLoss, "'", Shown(text), "' is no timestamp", format, ": ",
          ParseTimestamp(value, time_format, ticks_per_day, &ticks));
  }
  bool is_inexact = false;
  if (exact) {
    Field plain = *this;
    plain.exact = false;
    plain.SetReaders();
    is_inexact = !value.empty() && plain.Read(value.data(), end, place) == end;
  }
  Throw(ErrorCode::kDataLoss, "'", Shown(text), "' is no ", ToString(slot.dtype),
        base == 10 ? "" : StrCat(" of base ", base),
        is_inexact
            ? " that gives it back as it is, as numbers \"exact\" asks and \"nearest\" does not"
            : "");
}

void Field::Write(int64_t number, char* place) const { WriteInteger(*this, number, place); }

void Field::Write(uint64_t number, char* place) const { WriteInteger(*this, number, place); }

void Field::Write(double number, char* place) const {
  if (IsFloat(slot.dtype)) {
    if (!PutFloat(*this, number, place)) {
      OutOfRange(*this, StrCat(number), PutNearest(*this, number, place));
    }
    return;
  }
  if (slot.dtype == DataType::kUint64 && number >= 0x1p63 && number < 0x1p64) {
    return Put(static_cast<uint64_t>(number), place);  // it has no fraction
  }
  // 2^63 is no int64, and a NaN is in no range.
  if (!(number >= -0x1p63 && number < 0x1p63) || std::trunc(number) != number) {
    OutOfRange(*this, StrCat(number));
  }
  WriteInteger(*this, static_cast<int64_t>(number), place);
}

void Field::WriteDefault(size_t n, char* place) const {
  const size_t size = value_bytes();
  for (size_t i = 0; i < n; ++i) std::memcpy(place + i * size, default_value_, size);
}

void Field::ThrowMissing(const std::string& problem, const char* more) const {
  const char* const with_default = bytes ? "missing=default" : "default=";
  if (mask) {
    Throw(ErrorCode::kDataLoss, problem, " (", with_default, " after the field allows it)", more);
  }
  Throw(ErrorCode::kDataLoss, problem, " (", with_default,
        ", missing=mask or missing=skip after the field allow that)", more);
}

void Field::ThrowNull(std::string_view text, const char* more) const {
  ThrowMissing(StrCat("'", Shown(text), "' is no value, as null= says"), more);
}

std::string_view Field::BytesOf(std::string_view text) const {
  if (!IsNull(text)) return text;
  if (!fills_gaps()) ThrowNull(text);
  return {};
}

bool Field::IsNull(std::string_view text) const {
  if (nulls.empty()) return false;
  const std::string_view value = bytes || names_things() ? text : WithoutSpaces(text);
  return std::find(nulls.begin(), nulls.end(), value) != nulls.end();
}

bool Field::IsMissing(std::string_view text) const {
  if (IsNull(text)) return true;
  if (vocabulary != nullptr) return vocabulary->Find(text) < 0;
  return text.empty() && !bytes;
}

}  // namespace millhopper
