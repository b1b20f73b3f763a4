// SPDX-License-Identifier: Apache-2.0
#include "readers/arrow/arrow_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

#include "framework/base/error.h"
#include "readers/fields/timestamp.h"
#include "readers/support/utf8.h"

namespace millhopper {
namespace {

const void* BufferOf(const ArrowArray& array, int64_t index) {
  return index < array.n_buffers ? array.buffers[index] : nullptr;
}

// Whether no value of the array is null.
bool AllAreSet(const ArrowLevel& level) {
  int64_t at = level.offset;
  const int64_t end = level.offset + level.length;
  const auto is_set = [&] { return (level.valid[at >> 3] >> (at & 7) & 1) != 0; };
  for (; at < end && at % 8 != 0; ++at) {
    if (!is_set()) return false;
  }
  for (; end - at >= 8; at += 8) {
    if (level.valid[at >> 3] != 0xff) return false;
  }
  for (; at < end; ++at) {
    if (!is_set()) return false;
  }
  return true;
}

template <typename Offset>
std::string_view BytesBetween(const ArrowLevel& level, int64_t index) {
  const auto begin = static_cast<int64_t>(ValueAt<Offset>(level.values, index));
  const auto end = static_cast<int64_t>(ValueAt<Offset>(level.values, index + 1));
  CheckArrowRange(begin, end, level.bytes == nullptr ? 0 : std::numeric_limits<int64_t>::max());
  return {static_cast<const char*>(level.bytes) + begin, static_cast<size_t>(end - begin)};
}

// A view of bytes: 4 bytes of size, and after them up to 12 of the bytes themselves, or 4 of them,
// the number of a buffer and a place in it. The last buffer holds the sizes of those buffers.
std::string_view ViewedBytes(const ArrowLevel& level, int64_t index) {
  constexpr size_t kViewBytes = 16;
  constexpr int64_t kInline = 12;
  constexpr int64_t kFirstBuffer = 2;
  const char* const view =
      static_cast<const char*>(level.values) + static_cast<size_t>(index) * kViewBytes;
  const int64_t size = ValueAt<int32_t>(view, 0);
  if (size >= 0 && size <= kInline) return {view + 4, static_cast<size_t>(size)};
  const int64_t buffer = ValueAt<int32_t>(view, 2);
  const int64_t begin = ValueAt<int32_t>(view, 3);
  const int64_t buffers = level.array->n_buffers - kFirstBuffer - 1;
  CheckArrowRange(buffer, buffer + 1, buffers);
  CheckArrowRange(begin, begin + size,
                  ValueAt<int64_t>(level.array->buffers[kFirstBuffer + buffers], buffer));
  return {static_cast<const char*>(level.array->buffers[kFirstBuffer + buffer]) + begin,
          static_cast<size_t>(size)};
}

template <typename T>
void WriteSame(const Field&, const ArrowLevel& level, int64_t index, char* place) {
  std::memcpy(place, static_cast<const char*>(level.values) + index * int64_t{sizeof(T)},
              sizeof(T));
}

template <typename T>
void WriteInteger(const Field& field, const ArrowLevel& level, int64_t index, char* place) {
  using Widest = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
  field.Write(Widest{ValueAt<T>(level.values, index)}, place);
}

template <typename T>
void WriteFloat(const Field& field, const ArrowLevel& level, int64_t index, char* place) {
  field.Write(static_cast<double>(ValueAt<T>(level.values, index)), place);
}

void WriteFp16(const Field& field, const ArrowLevel& level, int64_t index, char* place) {
  field.Write(double{Fp16ToFloat(ValueAt<uint16_t>(level.values, index))}, place);
}

int BoolAt(const ArrowLevel& level, int64_t index) {
  const auto* const bits = static_cast<const uint8_t*>(level.values);
  return bits[index >> 3] >> (index & 7) & 1;
}

void WriteBool(const Field& field, const ArrowLevel& level, int64_t index, char* place) {
  field.Write(int64_t{BoolAt(level, index)}, place);
}

// As Python's json writes it: the shortest digits that give it back as a float64, which readers of
// JSON make of it.
void AppendFloat(double number, std::string* json) {
  if (std::isnan(number)) {
    *json += "NaN";
  } else if (std::isinf(number)) {
    *json += number < 0 ? "-Infinity" : "Infinity";
  } else {
    char digits[32];
    const auto written = std::to_chars(digits, digits + sizeof(digits), number);
    const std::string_view text(digits, static_cast<size_t>(written.ptr - digits));
    json->append(text);
    if (text.find_first_of(".e") == std::string_view::npos) *json += ".0";
  }
}

void AppendQuoted(std::string_view text, std::string* json) {
  if (FirstNoUtf8(text) < text.size()) {
    Throw(ErrorCode::kDataLoss, "'", Escaped(std::string(text.substr(0, 20))),
          "' is no text in UTF-8, which JSON is; bytes, in lists bytes[-1], hold it");
  }
  *json += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < ' ') {
      constexpr char kDigits[] = "0123456789abcdef";
      *json += StrCat("\\u00", byte < 16 ? '0' : '1', kDigits[byte & 15]);
      continue;
    }
    if (c == '"' || c == '\\') *json += '\\';
    *json += c;
  }
  *json += '"';
}

void WriteText(const Field& field, const ArrowLevel& level, int64_t index, char* place) {
  field.ReadAll(TextAt(level, index), place);
}

// The digits of a decimal, the last one first, at least one more than those after the point.
std::string DigitsOf(const ArrowLevel& level, int64_t index, bool* negative) {
  constexpr size_t kMostWords = 8;
  constexpr uint32_t kAtOnce = 1'000'000'000;  // nine digits
  uint32_t words[kMostWords];                  // the lowest one first
  const size_t n = static_cast<size_t>(level.size) / sizeof(uint32_t);
  std::memcpy(words, static_cast<const char*>(level.values) + index * level.size,
              n * sizeof(uint32_t));
  *negative = (words[n - 1] >> 31) != 0;
  if (*negative) {
    uint64_t carry = 1;
    for (size_t i = 0; i < n; ++i) {
      carry += static_cast<uint32_t>(~words[i]);
      words[i] = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
  }
  std::string digits;
  for (size_t high = n; high > 0;) {
    uint64_t rest = 0;
    for (size_t i = high; i-- > 0;) {
      rest = rest << 32 | words[i];
      words[i] = static_cast<uint32_t>(rest / kAtOnce);
      rest %= kAtOnce;
    }
    while (high > 0 && words[high - 1] == 0) --high;
    for (int i = 0; i < 9; ++i, rest /= 10) digits.push_back(static_cast<char>('0' + rest % 10));
  }
  digits.erase(digits.find_last_not_of('0') + 1);
  if (!digits.empty() && level.scale < 0) digits.insert(0, static_cast<size_t>(-level.scale), '0');
  const auto behind = static_cast<size_t>(std::max(level.scale, 0));
  if (digits.size() <= behind) digits.resize(behind + 1, '0');
  return digits;
}

// A decimal is read from its digits, so that it is rounded once.
void WriteDecimal(const Field& field, const ArrowLevel& level, int64_t index, char* place) {
  std::string text = DecimalTextAt(level, index);
  if (level.scale > 0) {  // so that a whole number is an integer
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  field.ReadAll(text, place);
}

// A date or timestamp in the unit of the field. A point between two ticks is wrong, as in text.
void WriteTime(const Field& field, const ArrowLevel& level, int64_t index, char* place) {
  const int64_t ticks = TicksAt(level, index);
  int64_t result;
  if (!ConvertTicks(ticks, level.ticks_per_day, field.ticks_per_day, &result)) {
    Throw(ErrorCode::kDataLoss, ticks, " ", TimeUnitOf(level.ticks_per_day),
          " since 1970 is no int64 of ", TimeUnitOf(field.ticks_per_day),
          "; unit=", TimeUnitOf(level.ticks_per_day), " after decode=timestamp keeps it");
  }
  std::memcpy(place, &result, sizeof(result));
}

// An integer that a float64 would round is none.
template <typename T>
void WriteAsFloat64(const Field& field, const ArrowLevel& level, int64_t index, char* place) {
  constexpr auto kMost = static_cast<double>(std::numeric_limits<T>::max());  // rounded up
  const T value = ValueAt<T>(level.values, index);
  const auto number = static_cast<double>(value);
  if (number >= kMost || static_cast<T>(number) != value) {
    Throw(ErrorCode::kDataLoss, value, " is no float64, which would round it; int64 and uint64 ",
          "hold it, and str decode=json has its digits as text");
  }
  field.Write(number, place);
}

template <typename T>
WriteArrowValue IntegerWriter(const Field& field) {
  return field.slot.dtype == DataType::kFp64 && field.scale == 1 ? WriteAsFloat64<T>
                                                                 : WriteInteger<T>;
}

}  // namespace

ArrowLevel ArrowLevelOf(const ArrowType& type, const ArrowArray& array) {
  ArrowLevel level;
  static_cast<ArrowType&>(level) = type;
  level.offset = array.offset;
  level.length = array.length;
  level.array = &array;
  if (array.offset < 0 || array.length < 0 ||
      array.offset > std::numeric_limits<int64_t>::max() - array.length) {
    Throw(ErrorCode::kDataLoss, "an array of ", array.length, " values from ", array.offset, " on");
  }
  if (type.kind == ArrowKind::kNull) return level;
  if (type.kind == ArrowKind::kRunEnds) {
    if (array.n_children != 2) Throw(ErrorCode::kDataLoss, "runs without ends or without values");
    const ArrowArray& ends = *array.children[0];
    if (ends.offset < 0 || (ends.length > 0 && BufferOf(ends, 1) == nullptr)) {
      Throw(ErrorCode::kDataLoss, "ends of runs without memory");
    }
    return level;
  }
  if (array.null_count != 0) level.valid = static_cast<const uint8_t*>(BufferOf(array, 0));
  if (array.null_count < 0 && level.valid != nullptr && AllAreSet(level)) level.valid = nullptr;
  if (type.kind == ArrowKind::kStruct || type.kind == ArrowKind::kFixedList) return level;
  level.values = BufferOf(array, 1);
  level.bytes = BufferOf(array, 2);
  const bool empty = type.kind == ArrowKind::kFixedBytes && type.size == 0;
  if ((type.kind == ArrowKind::kListView || type.kind == ArrowKind::kLargeListView) &&
      level.bytes == nullptr && level.length > 0) {
    Throw(ErrorCode::kDataLoss, "an array of ", array.length, " lists without their sizes");
  }
  if (level.values == nullptr && level.length > 0 && !empty) {
    Throw(ErrorCode::kDataLoss, "an array of ", array.length, " values without memory");
  }
  return level;
}

void CheckArrowRange(int64_t begin, int64_t end, int64_t length) {
  if (begin >= 0 && begin <= end && end <= length) return;
  Throw(ErrorCode::kDataLoss, "its values go from ", begin, " to ", end, " of ", length);
}

ArrowSpan ListAt(const ArrowLevel& level, int64_t place, int64_t values) {
  ArrowSpan span{};
  if (level.kind == ArrowKind::kFixedList) {
    if (level.size > 0 && place > std::numeric_limits<int64_t>::max() / level.size - 1) {
      Throw(ErrorCode::kDataLoss, "an array of ", place, " lists");
    }
    span = {place * level.size, (place + 1) * level.size};
  } else if (level.kind == ArrowKind::kList) {
    span = {ValueAt<int32_t>(level.values, place), ValueAt<int32_t>(level.values, place + 1)};
  } else if (level.kind == ArrowKind::kLargeList) {
    span = {ValueAt<int64_t>(level.values, place), ValueAt<int64_t>(level.values, place + 1)};
  } else {
    const bool large = level.kind == ArrowKind::kLargeListView;
    span.begin = large ? ValueAt<int64_t>(level.values, place)
                       : int64_t{ValueAt<int32_t>(level.values, place)};
    const int64_t size = large ? ValueAt<int64_t>(level.bytes, place)
                               : int64_t{ValueAt<int32_t>(level.bytes, place)};
    CheckArrowRange(0, size, values);
    CheckArrowRange(span.begin, span.begin, values);
    span.end = span.begin + size;
  }
  CheckArrowRange(span.begin, span.end, values);
  return span;
}

std::string_view TextAt(const ArrowLevel& level, int64_t index) {
  switch (level.kind) {
    case ArrowKind::kBytes:
      return BytesBetween<int32_t>(level, index);
    case ArrowKind::kLargeBytes:
      return BytesBetween<int64_t>(level, index);
    case ArrowKind::kViewedBytes:
      return ViewedBytes(level, index);
    default:
      return {static_cast<const char*>(level.values) + index * level.size,
              static_cast<size_t>(level.size)};
  }
}

std::string DecimalTextAt(const ArrowLevel& level, int64_t index) {
  bool negative = false;
  const std::string digits = DigitsOf(level, index, &negative);
  const auto point = digits.rend() - std::max(level.scale, 0);
  std::string text(negative ? "-" : "");
  text.append(digits.rbegin(), point);
  if (level.scale > 0) text.append(1, '.').append(point, digits.rend());
  return text;
}

int64_t TicksAt(const ArrowLevel& level, int64_t place) {
  return level.kind == ArrowKind::kInt32 ? ValueAt<int32_t>(level.values, place)
                                         : ValueAt<int64_t>(level.values, place);
}

bool CanBeJson(const ArrowType& type) {
  return type.kind != ArrowKind::kOther && type.kind != ArrowKind::kStruct && !IsList(type.kind);
}

void AppendJson(const ArrowLevel& level, int64_t index, std::string* json) {
  if (level.ticks_per_day > 0) {
    return AppendQuoted(TimestampText(TicksAt(level, index), level.ticks_per_day), json);
  }
  const auto add = [&](auto number) { *json += StrCat(number); };
  switch (level.kind) {
    case ArrowKind::kBool:
      *json += BoolAt(level, index) ? "true" : "false";
      return;
    case ArrowKind::kInt8:
      return add(int{ValueAt<int8_t>(level.values, index)});
    case ArrowKind::kUint8:
      return add(int{ValueAt<uint8_t>(level.values, index)});
    case ArrowKind::kInt16:
      return add(ValueAt<int16_t>(level.values, index));
    case ArrowKind::kUint16:
      return add(ValueAt<uint16_t>(level.values, index));
    case ArrowKind::kInt32:
      return add(ValueAt<int32_t>(level.values, index));
    case ArrowKind::kUint32:
      return add(ValueAt<uint32_t>(level.values, index));
    case ArrowKind::kInt64:
      return add(ValueAt<int64_t>(level.values, index));
    case ArrowKind::kUint64:
      return add(ValueAt<uint64_t>(level.values, index));
    case ArrowKind::kFp16:
      return AppendFloat(Fp16ToFloat(ValueAt<uint16_t>(level.values, index)), json);
    case ArrowKind::kFp32:
      return AppendFloat(ValueAt<float>(level.values, index), json);
    case ArrowKind::kFp64:
      return AppendFloat(ValueAt<double>(level.values, index), json);
    case ArrowKind::kDecimal:
      *json += DecimalTextAt(level, index);
      return;
    default:
      AppendQuoted(TextAt(level, index), json);
  }
}

int64_t RunAt(const ArrowLevel& level, int64_t index) {
  const ArrowArray& ends = *level.array->children[0];
  const auto end_of = [&](int64_t run) {
    const int64_t at = ends.offset + run;
    return level.size == 2   ? int64_t{ValueAt<int16_t>(ends.buffers[1], at)}
           : level.size == 4 ? int64_t{ValueAt<int32_t>(ends.buffers[1], at)}
                             : ValueAt<int64_t>(ends.buffers[1], at);
  };
  int64_t first = 0, count = ends.length;  // among these is the first run that ends after it
  while (count > 0) {
    const int64_t half = count / 2;
    if (end_of(first + half) > index) {
      count = half;
    } else {
      first += half + 1;
      count -= half + 1;
    }
  }
  CheckArrowRange(first, first + 1, ends.length);
  return first;
}

WriteArrowValue WriterOf(const ArrowType& type, const Field& field) {
  const auto same = [&](DataType dtype) { return field.slot.dtype == dtype && field.scale == 1; };
  if (field.decode == Field::Decode::kTimestamp && type.ticks_per_day > 0) {
    const bool own = type.ticks_per_day == field.ticks_per_day;
    return own && type.kind == ArrowKind::kInt64 ? WriteSame<int64_t> : WriteTime;
  }
  switch (type.kind) {
    case ArrowKind::kBool:
      return WriteBool;
    case ArrowKind::kInt8:
      return same(DataType::kInt8) ? WriteSame<int8_t> : WriteInteger<int8_t>;
    case ArrowKind::kUint8:
      return same(DataType::kUint8) ? WriteSame<uint8_t> : WriteInteger<uint8_t>;
    case ArrowKind::kInt16:
      return same(DataType::kInt16) ? WriteSame<int16_t> : WriteInteger<int16_t>;
    case ArrowKind::kUint16:
      return same(DataType::kUint16) ? WriteSame<uint16_t> : WriteInteger<uint16_t>;
    case ArrowKind::kInt32:
      return same(DataType::kInt32) ? WriteSame<int32_t> : WriteInteger<int32_t>;
    case ArrowKind::kUint32:
      return same(DataType::kUint32) ? WriteSame<uint32_t> : WriteInteger<uint32_t>;
    case ArrowKind::kInt64:
      return same(DataType::kInt64) ? WriteSame<int64_t> : IntegerWriter<int64_t>(field);
    case ArrowKind::kUint64:
      return same(DataType::kUint64) ? WriteSame<uint64_t> : IntegerWriter<uint64_t>(field);
    case ArrowKind::kFp16:
      return same(DataType::kFp16) ? WriteSame<uint16_t> : WriteFp16;
    case ArrowKind::kFp32:
      return same(DataType::kFp32) ? WriteSame<float> : WriteFloat<float>;
    case ArrowKind::kFp64:
      return same(DataType::kFp64) ? WriteSame<double> : WriteFloat<double>;
    case ArrowKind::kDecimal:
      return WriteDecimal;
    default:
      return WriteText;
  }
}

bool IsSame(const ArrowType& type, const Field& field) {
  const WriteArrowValue write = WriterOf(type, field);
  return write == WriteSame<int8_t> || write == WriteSame<uint8_t> || write == WriteSame<int16_t> ||
         write == WriteSame<int32_t> || write == WriteSame<int64_t> ||
         write == WriteSame<uint16_t> || write == WriteSame<uint32_t> ||
         write == WriteSame<uint64_t> || write == WriteSame<float> || write == WriteSame<double>;
}

}  // namespace millhopper
