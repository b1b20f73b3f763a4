// SPDX-License-Identifier: Apache-2.0
#include "readers/arrow/arrow_types.h"

#include <charconv>
#include <cstdlib>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "readers/fields/timestamp.h"

namespace millhopper {
namespace {

constexpr int kMostDigits = 100;  // after or before the point of a decimal
constexpr int kFloat64Digits = 15;

struct NamedType {
  std::string_view format, name;
  ArrowKind kind;
  DataType guess;
  int64_t ticks_per_day = 0;
};

// Of a day.
constexpr int64_t kMilliseconds = 1000 * kSecondsPerDay;
constexpr int64_t kMicroseconds = 1000 * kMilliseconds;
constexpr int64_t kNanoseconds = 1000 * kMicroseconds;

struct TimeUnit {
  std::string_view name;
  int64_t ticks_per_day;
};
constexpr TimeUnit kTimeUnits[] = {{"d", 1},
                                   {"s", kSecondsPerDay},
                                   {"ms", kMilliseconds},
                                   {"us", kMicroseconds},
                                   {"ns", kNanoseconds}};

constexpr NamedType kTypes[] = {
    {"n", "null", ArrowKind::kNull, DataType::kFp64},
    {"b", "bool", ArrowKind::kBool, DataType::kBool},
    {"c", "int8", ArrowKind::kInt8, DataType::kInt8},
    {"C", "uint8", ArrowKind::kUint8, DataType::kUint8},
    {"s", "int16", ArrowKind::kInt16, DataType::kInt16},
    {"S", "uint16", ArrowKind::kUint16, DataType::kUint16},
    {"i", "int32", ArrowKind::kInt32, DataType::kInt32},
    {"I", "uint32", ArrowKind::kUint32, DataType::kUint32},
    {"l", "int64", ArrowKind::kInt64, DataType::kInt64},
    {"L", "uint64", ArrowKind::kUint64, DataType::kUint64},
    {"e", "float16", ArrowKind::kFp16, DataType::kFp16},
    {"f", "float32", ArrowKind::kFp32, DataType::kFp32},
    {"g", "float64", ArrowKind::kFp64, DataType::kFp64},
    {"z", "binary", ArrowKind::kBytes, DataType::kUint8},
    {"Z", "large_binary", ArrowKind::kLargeBytes, DataType::kUint8},
    {"vz", "binary_view", ArrowKind::kViewedBytes, DataType::kUint8},
    {"u", "string", ArrowKind::kBytes, DataType::kUint8},
    {"U", "large_string", ArrowKind::kLargeBytes, DataType::kUint8},
    {"vu", "string_view", ArrowKind::kViewedBytes, DataType::kUint8},
    {"tdD", "date32", ArrowKind::kInt32, DataType::kInt32, 1},
    {"tdm", "date64", ArrowKind::kInt64, DataType::kInt64, kMilliseconds},
    {"tts", "time32[s]", ArrowKind::kInt32, DataType::kInt32},
    {"ttm", "time32[ms]", ArrowKind::kInt32, DataType::kInt32},
    {"ttu", "time64[us]", ArrowKind::kInt64, DataType::kInt64},
    {"ttn", "time64[ns]", ArrowKind::kInt64, DataType::kInt64},
    {"tDs", "duration[s]", ArrowKind::kInt64, DataType::kInt64},
    {"tDm", "duration[ms]", ArrowKind::kInt64, DataType::kInt64},
    {"tDu", "duration[us]", ArrowKind::kInt64, DataType::kInt64},
    {"tDn", "duration[ns]", ArrowKind::kInt64, DataType::kInt64},
    {"tiM", "month_interval", ArrowKind::kInt32, DataType::kInt32},
    {"+s", "struct", ArrowKind::kStruct, DataType::kInt64},
    {"+l", "list", ArrowKind::kList, DataType::kInt64},
    {"+L", "large_list", ArrowKind::kLargeList, DataType::kInt64},
    {"+vl", "list_view", ArrowKind::kListView, DataType::kInt64},
    {"+vL", "large_list_view", ArrowKind::kLargeListView, DataType::kInt64},
    {"+m", "map", ArrowKind::kList, DataType::kInt64},
};

std::string_view FormatOf(const ArrowSchema& schema) {
  return schema.format == nullptr ? std::string_view() : std::string_view(schema.format);
}

const NamedType* FindNamed(std::string_view format) {
  for (const NamedType& type : kTypes) {
    if (type.format == format) return &type;
  }
  return nullptr;
}

bool StartsWith(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

// Reads a number and the separator after it; false if there is none.
bool TakeNumber(std::string_view* text, int64_t* number) {
  const auto read = std::from_chars(text->data(), text->data() + text->size(), *number);
  if (read.ec != std::errc()) return false;
  text->remove_prefix(static_cast<size_t>(read.ptr - text->data()));
  if (!text->empty()) text->remove_prefix(1);
  return true;
}

// Of a timestamp, by the letter of its unit.
int64_t TicksPerDay(std::string_view unit) {
  for (const auto& known : kTimeUnits) {
    if (known.name.substr(0, 1) == unit) return known.ticks_per_day;
  }
  return 0;
}

// 0 if they are no ends of runs.
int64_t RunEndBytes(const ArrowSchema& ends) {
  const std::string_view format = FormatOf(ends);
  return format == "s" ? 2 : format == "i" ? 4 : format == "l" ? 8 : 0;
}

}  // namespace

bool IsList(ArrowKind kind) {
  return kind == ArrowKind::kList || kind == ArrowKind::kLargeList ||
         kind == ArrowKind::kListView || kind == ArrowKind::kLargeListView ||
         kind == ArrowKind::kFixedList;
}

bool IsText(ArrowKind kind) {
  return kind == ArrowKind::kFixedBytes || kind == ArrowKind::kBytes ||
         kind == ArrowKind::kLargeBytes || kind == ArrowKind::kViewedBytes;
}

bool IsUtf8(const ArrowSchema& schema) {
  const std::string_view format = schema.format;
  return format == "u" || format == "U" || format == "vu";
}

bool FitsFloat64(const ArrowType& decimal) { return decimal.digits <= kFloat64Digits; }

std::string_view ArrowNameOf(const ArrowSchema& schema) {
  return schema.name == nullptr ? std::string_view() : std::string_view(schema.name);
}

ArrowType ArrowTypeOf(const ArrowSchema& schema) {
  std::string_view format = FormatOf(schema);
  ArrowType type;
  if (const NamedType* const named = FindNamed(format)) {
    type.kind = named->kind;
    type.ticks_per_day = named->ticks_per_day;
  } else if (StartsWith(format, "ts")) {  // a timestamp; its time zone does not change its number
    type.kind = ArrowKind::kInt64;
    type.ticks_per_day = TicksPerDay(format.substr(2, 1));
  } else if (format == "+r") {
    type.size = ChildrenOf(schema) == 2 ? RunEndBytes(*schema.children[0]) : 0;
    if (type.size > 0) type.kind = ArrowKind::kRunEnds;
  } else if (StartsWith(format, "w:") || StartsWith(format, "+w:")) {
    const bool list = format[0] == '+';
    format.remove_prefix(list ? 3 : 2);
    if (TakeNumber(&format, &type.size) && format.empty() && type.size >= 0 &&
        type.size <= static_cast<int64_t>(kMaxRecordBytes)) {
      type.kind = list ? ArrowKind::kFixedList : ArrowKind::kFixedBytes;
    }
  } else if (StartsWith(format, "d:")) {
    format.remove_prefix(2);
    int64_t precision = 0, scale = 0, bits = 128;
    if (TakeNumber(&format, &precision) && TakeNumber(&format, &scale) &&
        (format.empty() || TakeNumber(&format, &bits)) && format.empty() &&
        (bits == 32 || bits == 64 || bits == 128 || bits == 256) && precision <= kMostDigits &&
        std::abs(scale) <= kMostDigits) {
      type.kind = ArrowKind::kDecimal;
      type.size = bits / 8;
      type.digits = static_cast<int>(precision);
      type.scale = static_cast<int>(scale);
    }
  }
  return type;
}

std::string ArrowTypeName(const ArrowSchema& schema) {
  const std::string_view format = FormatOf(schema);
  if (schema.dictionary != nullptr) return "a dictionary of " + ArrowTypeName(*schema.dictionary);
  if (const NamedType* const named = FindNamed(format)) return std::string(named->name);
  if (StartsWith(format, "ts")) return "timestamp";
  if (StartsWith(format, "w:")) return StrCat("fixed_size_binary[", format.substr(2), "]");
  if (StartsWith(format, "+w:")) return StrCat("fixed_size_list[", format.substr(3), "]");
  if (StartsWith(format, "d:")) return StrCat("decimal(", format.substr(2), ")");
  if (StartsWith(format, "+u")) return "union";
  if (format == "+r") return "run_end_encoded";
  if (format == "tiD") return "day_time_interval";
  if (format == "tin") return "month_day_nano_interval";
  return StrCat("of Arrow's type '", Escaped(std::string(format)), "'");
}

DataType GuessDataType(const ArrowSchema& schema) {
  if (const NamedType* const named = FindNamed(FormatOf(schema))) return named->guess;
  return ArrowTypeOf(schema).kind == ArrowKind::kDecimal ? DataType::kFp64 : DataType::kInt64;
}

bool IsDate(const ArrowSchema& schema) { return StartsWith(FormatOf(schema), "td"); }

bool HasUnitOfItsOwn(const ArrowSchema& schema) {
  return StartsWith(FormatOf(schema), "tt") || StartsWith(FormatOf(schema), "tD");
}

std::string_view TimeUnitOf(int64_t ticks_per_day) {
  for (const auto& unit : kTimeUnits) {
    if (unit.ticks_per_day == ticks_per_day) return unit.name;
  }
  return "";
}

bool ConvertTicks(int64_t ticks, int64_t ticks_per_day, int64_t converted_per_day,
                  int64_t* converted) {
  if (converted_per_day >= ticks_per_day) {
    return !__builtin_mul_overflow(ticks, converted_per_day / ticks_per_day, converted);
  }
  const int64_t ticks_of_one = ticks_per_day / converted_per_day;
  *converted = ticks / ticks_of_one;
  return ticks % ticks_of_one == 0;
}

size_t ChildrenOf(const ArrowSchema& schema) {
  return schema.n_children < 0 ? 0 : static_cast<size_t>(schema.n_children);
}

const ArrowSchema& MeaningOf(const ArrowSchema& schema) {
  const ArrowSchema* here = &schema;
  for (;;) {
    if (here->dictionary != nullptr) {
      here = here->dictionary;
    } else if (ArrowTypeOf(*here).kind == ArrowKind::kRunEnds) {
      here = here->children[1];
    } else {
      return *here;
    }
  }
}

const ArrowSchema& ItemOf(const ArrowSchema& list) {
  if (ChildrenOf(list) != 1) Throw(ErrorCode::kDataLoss, ArrowTypeName(list), " without a child");
  return *list.children[0];
}

}  // namespace millhopper
