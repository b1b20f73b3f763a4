// SPDX-License-Identifier: Apache-2.0
#include "readers/arrow_columns.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/memory.h"
#include "readers/field_rows.h"

namespace millhopper {
namespace {

constexpr int64_t kSliceRows = 1 << 14;  // that are made at once, while they are in the cache
constexpr size_t kMostNames = 20;        // of columns in an error
constexpr int kMostDigits = 100;         // behind or before the point of a decimal
constexpr int kMaxNesting = 64;          // of types within types

// --- Types ---

enum class Kind {
  kNull,
  kBool,
  kInt8,
  kUint8,
  kInt16,
  kUint16,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kFp16,
  kFp32,
  kFp64,
  kDecimal,
  kFixedBytes,
  kBytes,
  kLargeBytes,
  kViewedBytes,
  kStruct,
  kList,
  kLargeList,
  kFixedList,
  kOther,  // cannot be read
};

struct Type {
  Kind kind = Kind::kOther;
  int64_t size = 0;  // bytes of a decimal or of fixed bytes; values of a fixed list
  int scale = 0;     // digits of a decimal behind the point
};

bool IsList(Kind kind) {
  return kind == Kind::kList || kind == Kind::kLargeList || kind == Kind::kFixedList;
}

bool IsText(Kind kind) {
  return kind == Kind::kFixedBytes || kind == Kind::kBytes || kind == Kind::kLargeBytes ||
         kind == Kind::kViewedBytes;
}

struct NamedType {
  std::string_view format, name;
  Kind kind;
  DataType guess;
};

constexpr NamedType kTypes[] = {
    {"n", "null", Kind::kNull, DataType::kInt64},
    {"b", "bool", Kind::kBool, DataType::kBool},
    {"c", "int8", Kind::kInt8, DataType::kInt8},
    {"C", "uint8", Kind::kUint8, DataType::kUint8},
    {"s", "int16", Kind::kInt16, DataType::kInt16},
    {"S", "uint16", Kind::kUint16, DataType::kInt32},
    {"i", "int32", Kind::kInt32, DataType::kInt32},
    {"I", "uint32", Kind::kUint32, DataType::kInt64},
    {"l", "int64", Kind::kInt64, DataType::kInt64},
    {"L", "uint64", Kind::kUint64, DataType::kInt64},
    {"e", "float16", Kind::kFp16, DataType::kFp16},
    {"f", "float32", Kind::kFp32, DataType::kFp32},
    {"g", "float64", Kind::kFp64, DataType::kFp64},
    {"z", "binary", Kind::kBytes, DataType::kUint8},
    {"Z", "large_binary", Kind::kLargeBytes, DataType::kUint8},
    {"vz", "binary_view", Kind::kViewedBytes, DataType::kUint8},
    {"u", "string", Kind::kBytes, DataType::kUint8},
    {"U", "large_string", Kind::kLargeBytes, DataType::kUint8},
    {"vu", "string_view", Kind::kViewedBytes, DataType::kUint8},
    {"tdD", "date32", Kind::kInt32, DataType::kInt32},
    {"tdm", "date64", Kind::kInt64, DataType::kInt64},
    {"tts", "time32[s]", Kind::kInt32, DataType::kInt32},
    {"ttm", "time32[ms]", Kind::kInt32, DataType::kInt32},
    {"ttu", "time64[us]", Kind::kInt64, DataType::kInt64},
    {"ttn", "time64[ns]", Kind::kInt64, DataType::kInt64},
    {"tDs", "duration[s]", Kind::kInt64, DataType::kInt64},
    {"tDm", "duration[ms]", Kind::kInt64, DataType::kInt64},
    {"tDu", "duration[us]", Kind::kInt64, DataType::kInt64},
    {"tDn", "duration[ns]", Kind::kInt64, DataType::kInt64},
    {"+s", "struct", Kind::kStruct, DataType::kInt64},
    {"+l", "list", Kind::kList, DataType::kInt64},
    {"+L", "large_list", Kind::kLargeList, DataType::kInt64},
    {"+m", "map", Kind::kList, DataType::kInt64},
};

std::string_view FormatOf(const ArrowSchema& schema) {
  return schema.format == nullptr ? std::string_view() : std::string_view(schema.format);
}

std::string_view NameIn(const ArrowSchema& schema) {
  return schema.name == nullptr ? std::string_view() : std::string_view(schema.name);
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

// Reads a number and the separator behind it; false if there is none.
bool TakeNumber(std::string_view* text, int64_t* number) {
  const auto read = std::from_chars(text->data(), text->data() + text->size(), *number);
  if (read.ec != std::errc()) return false;
  text->remove_prefix(static_cast<size_t>(read.ptr - text->data()));
  if (!text->empty()) text->remove_prefix(1);
  return true;
}

// The type of values, or of what a dictionary stands for.
Type TypeOf(const ArrowSchema& schema) {
  std::string_view format = FormatOf(schema);
  Type type;
  if (const NamedType* const named = FindNamed(format)) {
    type.kind = named->kind;
  } else if (StartsWith(format, "ts")) {  // a timestamp; its time zone does not change its number
    type.kind = Kind::kInt64;
  } else if (StartsWith(format, "w:") || StartsWith(format, "+w:")) {
    const bool list = format[0] == '+';
    format.remove_prefix(list ? 3 : 2);
    if (TakeNumber(&format, &type.size) && format.empty() && type.size >= 0 &&
        type.size <= static_cast<int64_t>(kMaxRecordBytes)) {
      type.kind = list ? Kind::kFixedList : Kind::kFixedBytes;
    }
  } else if (StartsWith(format, "d:")) {
    format.remove_prefix(2);
    int64_t precision = 0, scale = 0, bits = 128;
    if (TakeNumber(&format, &precision) && TakeNumber(&format, &scale) &&
        (format.empty() || TakeNumber(&format, &bits)) && format.empty() &&
        (bits == 32 || bits == 64 || bits == 128) && std::abs(scale) <= kMostDigits) {
      type.kind = Kind::kDecimal;
      type.size = bits / 8;
      type.scale = static_cast<int>(scale);
    }
  }
  return type;
}

std::string NameOf(const ArrowSchema& schema) {
  const std::string_view format = FormatOf(schema);
  if (schema.dictionary != nullptr) return "a dictionary of " + NameOf(*schema.dictionary);
  if (const NamedType* const named = FindNamed(format)) return std::string(named->name);
  if (StartsWith(format, "ts")) return "timestamp";
  if (StartsWith(format, "w:")) return StrCat("fixed_size_binary[", format.substr(2), "]");
  if (StartsWith(format, "+w:")) return StrCat("fixed_size_list[", format.substr(3), "]");
  if (StartsWith(format, "d:")) return StrCat("decimal(", format.substr(2), ")");
  if (StartsWith(format, "+u")) return "union";
  if (StartsWith(format, "+v")) return "list_view";
  if (format == "+r") return "run_end_encoded";
  return StrCat("of Arrow's type '", Escaped(std::string(format)), "'");
}

size_t ChildrenOf(const ArrowSchema& schema) {
  return schema.n_children < 0 ? 0 : static_cast<size_t>(schema.n_children);
}

// Throws unless a list has its one child.
const ArrowSchema& ItemOf(const ArrowSchema& list) {
  if (ChildrenOf(list) != 1) Throw(ErrorCode::kDataLoss, NameOf(list), " without a child");
  return *list.children[0];
}

// --- Names ---

std::string NamesIn(const ArrowSchema& schema) {
  std::string names;
  for (size_t i = 0; i < ChildrenOf(schema); ++i) {
    if (i == kMostNames) return names + " and more";
    names += StrCat(i > 0 ? ", '" : "'", Escaped(std::string(NameIn(*schema.children[i]))), "'");
  }
  return names.empty() ? "none" : names;
}

// Goes down to the child of a struct.
const ArrowSchema& GoTo(const ArrowSchema& schema, size_t child, ArrowColumn* column) {
  column->children.push_back(child);
  column->names.emplace_back(NameIn(*schema.children[child]));
  return *schema.children[child];
}

// Goes down through lists.
const ArrowSchema& GoThroughLists(const ArrowSchema& schema, ArrowColumn* column) {
  const ArrowSchema* here = &schema;
  while (here->dictionary == nullptr && IsList(TypeOf(*here).kind)) {
    if (column->children.size() > kMaxNesting) {
      Throw(ErrorCode::kDataLoss, "its lists are nested more than ", kMaxNesting, " deep");
    }
    here = &ItemOf(*here);
    column->children.push_back(0);
  }
  return *here;
}

// The child of this name; nothing if there is none.
std::optional<size_t> ChildNamed(const ArrowSchema& schema, std::string_view name) {
  std::optional<size_t> found;
  for (size_t i = 0; i < ChildrenOf(schema); ++i) {
    if (NameIn(*schema.children[i]) != name) continue;
    if (found) {
      Throw(ErrorCode::kDataLoss, "more than one column is named '", Escaped(std::string(name)),
            "'");
    }
    found = i;
  }
  return found;
}

// Finds what a struct has by a name with or without points. An exact name goes before one with
// points between the names of structs.
bool FindIn(const ArrowSchema& schema, std::string_view name, ArrowColumn* column) {
  if (TypeOf(schema).kind != Kind::kStruct || column->children.size() > kMaxNesting) return false;
  if (const std::optional<size_t> child = ChildNamed(schema, name)) {
    GoTo(schema, *child, column);
    return true;
  }
  for (size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.', dot + 1)) {
    const std::optional<size_t> child = ChildNamed(schema, name.substr(0, dot));
    if (!child) continue;
    const ArrowColumn before = *column;
    const ArrowSchema& inner = GoThroughLists(GoTo(schema, *child, column), column);
    if (FindIn(inner, name.substr(dot + 1), column)) return true;
    *column = before;
  }
  return false;
}

const ArrowSchema& SchemaAt(const ArrowSchema& schema, const ArrowColumn& column) {
  const ArrowSchema* here = &schema;
  for (const size_t child : column.children) here = here->children[child];
  return *here;
}

// --- Values ---

bool IsFloat(DataType type) {
  return type == DataType::kFp16 || type == DataType::kBf16 || type == DataType::kFp32 ||
         type == DataType::kFp64;
}

template <typename T>
T ValueAt(const void* values, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(values) + static_cast<size_t>(index) * sizeof(T),
              sizeof(T));
  return value;
}

// One array of a batch, on the way from the batch to the values.
struct Level {
  Kind kind = Kind::kOther;
  int64_t size = 0;
  int scale = 0;
  int64_t offset = 0, length = 0;
  const uint8_t* valid = nullptr;  // a bit for each value; null if no value is null
  const void* values = nullptr;    // the buffer of values or of offsets
  const void* bytes = nullptr;     // what the offsets point into
  const ArrowArray* array = nullptr;
};

const void* BufferOf(const ArrowArray& array, int64_t index) {
  return index < array.n_buffers ? array.buffers[index] : nullptr;
}

Level LevelOf(const Type& type, const ArrowArray& array) {
  Level level;
  level.kind = type.kind;
  level.size = type.size;
  level.scale = type.scale;
  level.offset = array.offset;
  level.length = array.length;
  level.array = &array;
  if (array.offset < 0 || array.length < 0 ||
      array.offset > std::numeric_limits<int64_t>::max() - array.length) {
    Throw(ErrorCode::kDataLoss, "an array of ", array.length, " values from ", array.offset, " on");
  }
  if (type.kind == Kind::kNull) return level;
  if (array.null_count != 0) level.valid = static_cast<const uint8_t*>(BufferOf(array, 0));
  if (type.kind == Kind::kStruct || type.kind == Kind::kFixedList) return level;
  level.values = BufferOf(array, 1);
  level.bytes = BufferOf(array, 2);
  const bool empty = type.kind == Kind::kFixedBytes && type.size == 0;
  if (level.values == nullptr && level.length > 0 && !empty) {
    Throw(ErrorCode::kDataLoss, "an array of ", array.length, " values without memory");
  }
  return level;
}

bool IsNullAt(const Level& level, int64_t index) {
  if (level.kind == Kind::kNull) return true;
  return level.valid != nullptr && (level.valid[index >> 3] >> (index & 7) & 1) == 0;
}

// Throws unless the values from `begin` to `end` are among `length`.
void CheckRange(int64_t begin, int64_t end, int64_t length) {
  if (begin >= 0 && begin <= end && end <= length) return;
  Throw(ErrorCode::kDataLoss, "its values go from ", begin, " to ", end, " of ", length);
}

template <typename Offset>
std::string_view BytesBetween(const Level& level, int64_t index) {
  const auto begin = static_cast<int64_t>(ValueAt<Offset>(level.values, index));
  const auto end = static_cast<int64_t>(ValueAt<Offset>(level.values, index + 1));
  CheckRange(begin, end, level.bytes == nullptr ? 0 : std::numeric_limits<int64_t>::max());
  return {static_cast<const char*>(level.bytes) + begin, static_cast<size_t>(end - begin)};
}

// A view of bytes: 4 bytes of size, and behind them up to 12 of the bytes themselves, or 4 of them,
// the number of a buffer and a place in it. The last buffer holds the sizes of those buffers.
std::string_view ViewedBytes(const Level& level, int64_t index) {
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
  CheckRange(buffer, buffer + 1, buffers);
  CheckRange(begin, begin + size,
             ValueAt<int64_t>(level.array->buffers[kFirstBuffer + buffers], buffer));
  return {static_cast<const char*>(level.array->buffers[kFirstBuffer + buffer]) + begin,
          static_cast<size_t>(size)};
}

std::string_view TextAt(const Level& level, int64_t index) {
  switch (level.kind) {
    case Kind::kBytes:
      return BytesBetween<int32_t>(level, index);
    case Kind::kLargeBytes:
      return BytesBetween<int64_t>(level, index);
    case Kind::kViewedBytes:
      return ViewedBytes(level, index);
    default:
      return {static_cast<const char*>(level.values) + index * level.size,
              static_cast<size_t>(level.size)};
  }
}

// Writes values of one type to places of the field's.
using WriteValue = void (*)(const Field& field, const Level& level, int64_t index, char* place);

template <typename T>
void WriteSame(const Field&, const Level& level, int64_t index, char* place) {
  std::memcpy(place, static_cast<const char*>(level.values) + index * int64_t{sizeof(T)},
              sizeof(T));
}

template <typename T>
void WriteInteger(const Field& field, const Level& level, int64_t index, char* place) {
  field.Write(static_cast<int64_t>(ValueAt<T>(level.values, index)), place);
}

void WriteUint64(const Field& field, const Level& level, int64_t index, char* place) {
  const auto value = ValueAt<uint64_t>(level.values, index);
  if (value <= uint64_t{std::numeric_limits<int64_t>::max()}) {
    field.Write(static_cast<int64_t>(value), place);
  } else if (IsFloat(field.slot.dtype)) {
    field.Write(static_cast<double>(value), place);
  } else {
    Throw(ErrorCode::kDataLoss, value, " is no ", ToString(field.slot.dtype));
  }
}

template <typename T>
void WriteFloat(const Field& field, const Level& level, int64_t index, char* place) {
  field.Write(static_cast<double>(ValueAt<T>(level.values, index)), place);
}

void WriteFp16(const Field& field, const Level& level, int64_t index, char* place) {
  field.Write(double{Fp16ToFloat(ValueAt<uint16_t>(level.values, index))}, place);
}

void WriteBool(const Field& field, const Level& level, int64_t index, char* place) {
  const auto* const bits = static_cast<const uint8_t*>(level.values);
  field.Write(int64_t{bits[index >> 3] >> (index & 7) & 1}, place);
}

void WriteText(const Field& field, const Level& level, int64_t index, char* place) {
  field.ReadAll(TextAt(level, index), place);
}

// A decimal is read from its digits, so that it is rounded once.
void WriteDecimal(const Field& field, const Level& level, int64_t index, char* place) {
  using Wide = __int128;
  const Wide number = level.size == 4   ? Wide{ValueAt<int32_t>(level.values, index)}
                      : level.size == 8 ? Wide{ValueAt<int64_t>(level.values, index)}
                                        : ValueAt<Wide>(level.values, index);
  auto rest = static_cast<unsigned __int128>(number);
  if (number < 0) rest = 0 - rest;
  std::string digits;  // the last one first
  for (; rest != 0; rest /= 10) {
    digits.push_back(static_cast<char>('0' + static_cast<int>(rest % 10)));
  }
  if (!digits.empty() && level.scale < 0) {
    digits.insert(0, static_cast<size_t>(-level.scale), '0');
  }
  const auto behind = static_cast<size_t>(std::max(level.scale, 0));
  if (digits.size() <= behind) digits.resize(behind + 1, '0');
  std::string text(number < 0 ? "-" : "");
  text.append(digits.rbegin(), digits.rend() - static_cast<std::ptrdiff_t>(behind));
  const size_t zeros = digits.find_first_not_of('0');
  if (zeros < behind) {
    text.push_back('.');
    text.append(digits.rend() - static_cast<std::ptrdiff_t>(behind),
                digits.rend() - static_cast<std::ptrdiff_t>(zeros));
  }
  field.ReadAll(text, place);
}

WriteValue WriterOf(const Type& type, const Field& field) {
  const auto same = [&](DataType dtype) { return field.slot.dtype == dtype && field.scale == 1; };
  switch (type.kind) {
    case Kind::kBool:
      return WriteBool;
    case Kind::kInt8:
      return same(DataType::kInt8) ? WriteSame<int8_t> : WriteInteger<int8_t>;
    case Kind::kUint8:
      return same(DataType::kUint8) ? WriteSame<uint8_t> : WriteInteger<uint8_t>;
    case Kind::kInt16:
      return same(DataType::kInt16) ? WriteSame<int16_t> : WriteInteger<int16_t>;
    case Kind::kUint16:
      return WriteInteger<uint16_t>;
    case Kind::kInt32:
      return same(DataType::kInt32) ? WriteSame<int32_t> : WriteInteger<int32_t>;
    case Kind::kUint32:
      return WriteInteger<uint32_t>;
    case Kind::kInt64:
      return same(DataType::kInt64) ? WriteSame<int64_t> : WriteInteger<int64_t>;
    case Kind::kUint64:
      return WriteUint64;
    case Kind::kFp16:
      return same(DataType::kFp16) ? WriteSame<uint16_t> : WriteFp16;
    case Kind::kFp32:
      return same(DataType::kFp32) ? WriteSame<float> : WriteFloat<float>;
    case Kind::kFp64:
      return same(DataType::kFp64) ? WriteSame<double> : WriteFloat<double>;
    case Kind::kDecimal:
      return WriteDecimal;
    default:
      return WriteText;
  }
}

// Whether values are stored as the field has them, and may be copied many at once.
bool IsSame(const Type& type, const Field& field) {
  const WriteValue write = WriterOf(type, field);
  return write == WriteSame<int8_t> || write == WriteSame<uint8_t> || write == WriteSame<int16_t> ||
         write == WriteSame<int32_t> || write == WriteSame<int64_t> ||
         write == WriteSame<uint16_t> || write == WriteSame<float> || write == WriteSame<double>;
}

template <typename T>
void PutNumber(T number, char** place) {
  std::memcpy(*place, &number, sizeof(number));
  *place += sizeof(number);
}

template <typename T>
T TakeStored(const char** place) {
  T number;
  std::memcpy(&number, *place, sizeof(number));
  *place += sizeof(number);
  return number;
}

// Calls the function, and has its errors name the column.
template <typename Function>
void InColumn(const Field& field, const Function& function) {
  try {
    function();
  } catch (const Error& error) {
    if (error.interrupts()) throw;
    throw error.WithMessage(StrCat("column '", Escaped(field.name), "': ", error.message()));
  }
}

[[noreturn]] void IsMissingValue(const char* what) {
  Throw(ErrorCode::kDataLoss, what, "; default=, missing=default or missing=skip say what to do");
}

// The records of a slice that are being made.
struct Slice {
  int64_t begin = 0;            // the first row of the batch
  size_t rows = 0;              // until an error
  std::vector<uint64_t> bytes;  // of each record
  std::vector<char> left_out;   // whether a row is
  std::vector<char*> records;   // where each begins
  std::vector<char*> variable;  // where the next value of unknown size of each is written
  std::optional<Error> error;   // of row `rows`
};

}  // namespace

// A field and the way to its values.
class ArrowRows::Column {
 public:
  Column(const Field& field, const ArrowSchema& schema, const ArrowColumn& column) : field_(field) {
    const ArrowSchema* here = &schema;
    const auto go = [&](size_t child) {
      steps_.push_back({TypeOf(*here), child});
      here = here->children[child];
    };
    for (const std::string& name : column.names) {
      while (here->dictionary == nullptr && IsList(TypeOf(*here).kind)) go(0);
      const std::optional<size_t> child = ChildNamed(*here, name);
      if (!child) Throw(ErrorCode::kDataLoss, "no column is named '", Escaped(name), "'");
      go(*child);
    }
    while (here->dictionary == nullptr && IsList(TypeOf(*here).kind)) {
      ItemOf(*here);
      go(0);
    }
    steps_.push_back({TypeOf(*here), 0});
    if (here->dictionary != nullptr) dictionary_ = TypeOf(*here->dictionary);
    value_ = dictionary_ ? *dictionary_ : steps_.back().type;
    for (size_t i = 0; i < steps_.size(); ++i) {
      const bool list = IsList(steps_[i].type.kind);
      if (list || i + 1 == steps_.size()) ends_.push_back(i);
    }
    lists_ = ends_.size() - 1;
    CheckType(*here);
    write_ = WriterOf(value_, field_);
    same_ = IsSame(value_, field_);
  }

  const Field& field() const { return field_; }

  // The column in one batch.
  class View {
   public:
    View(const Column& column, const ArrowArray& batch) : column_(column), field_(column.field_) {
      const ArrowArray* here = &batch;
      for (size_t i = 0; i < column.steps_.size(); ++i) {
        const Step& step = column.steps_[i];
        levels_.push_back(LevelOf(step.type, *here));
        has_nulls_ = has_nulls_ || levels_.back().valid != nullptr || step.type.kind == Kind::kNull;
        if (i + 1 == column.steps_.size()) break;
        if (static_cast<int64_t>(step.child) >= here->n_children) {
          Throw(ErrorCode::kDataLoss, "the batch does not have it");
        }
        here = here->children[step.child];
      }
      values_ = levels_.back();
      direct_ = column.lists_ == 0 && !has_nulls_ && !column.dictionary_;
      for (const Level& level : levels_) {
        direct_ = direct_ && batch.length <= level.length - shift_;
        if (!direct_) break;
        shift_ += level.offset;
      }
      if (!column.dictionary_) return;
      if (here->dictionary == nullptr) Throw(ErrorCode::kDataLoss, "it has no dictionary");
      values_ = LevelOf(*column.dictionary_, *here->dictionary);
    }

    // Marks the rows in which the field is missing, if those are left out.
    void LeaveOut(Slice* slice) {
      if (field_.missing != Field::Missing::kSkip) return;
      if (!has_nulls_ && !column_.dictionary_ && field_.vocabulary == nullptr) return;
      for (size_t i = 0; i < slice->rows; ++i) {
        if (slice->left_out[i] != 0) continue;
        try {
          slice->left_out[i] = IsMissing(slice->begin + static_cast<int64_t>(i)) ? 1 : 0;
        } catch (const Error& error) {
          if (error.interrupts()) throw;  // what else is wrong is told when the row is written
        }
      }
    }

    // Adds what a field of unknown size takes in each record.
    void Measure(Slice* slice) {
      ForEachRow(slice, [this, slice](size_t i, int64_t row) {
        slice->bytes[i] += sizeof(uint32_t) + MeasureRow(row);
      });
    }

    // Writes the values of a field of known size to `place` in each record.
    void WriteFixed(size_t place, Slice* slice) {
      const size_t size = field_.value_bytes();
      if (direct_ && column_.same_) {
        if (size == 8) return CopyFixed<8>(place, slice);
        if (size == 4) return CopyFixed<4>(place, slice);
      }
      ForEachRow(slice, [=](size_t i, int64_t row) {
        char* to = slice->records[i] + place;
        if (!FindSpans(row)) return WriteMissing(&to);
        const auto count = static_cast<size_t>(Count());
        if (count != field_.values) {
          Throw(ErrorCode::kDataLoss, "it has ", count, count == 1 ? " value, " : " values, ",
                field_.values, field_.values == 1 ? " is declared" : " are declared");
        }
        WriteValues(&to);
      });
    }

    // Writes those of a field of unknown size.
    void WriteVariable(Slice* slice) {
      ForEachRow(slice, [=](size_t i, int64_t row) {
        char** const place = &slice->variable[i];
        if (!FindSpans(row)) {
          const size_t count = MissingCount();
          PutNumber(static_cast<uint32_t>(count), place);
          if (!field_.bytes) WriteMissing(place);
        } else if (field_.bytes_list) {
          PutNumber(static_cast<uint32_t>(Count()), place);
          ForEachValue([&](int64_t at) {
            PutNumber(static_cast<uint32_t>(TextOrDefault(at).size()), place);
          });
          ForEachValue([&](int64_t at) { PutText(TextOrDefault(at), place); });
        } else if (field_.bytes) {
          ForEachValue([&](int64_t at) {
            const std::string_view text = TextOrDefault(at);
            PutNumber(static_cast<uint32_t>(text.size()), place);
            PutText(text, place);
          });
        } else {
          PutNumber(static_cast<uint32_t>(Count()), place);
          WriteValues(place);
        }
      });
    }

   private:
    // Values that lie one behind another, counted within the last array, its offset left out.
    struct Span {
      int64_t begin, end;
    };

    // Calls function(i, row) for the rows that are not left out. The first error ends the slice
    // before its row.
    template <typename Function>
    void ForEachRow(Slice* slice, const Function& function) {
      size_t i = 0;
      try {
        InColumn(field_, [&] {
          for (; i < slice->rows; ++i) {
            if (slice->left_out[i] == 0) function(i, slice->begin + static_cast<int64_t>(i));
          }
        });
      } catch (const Error& error) {
        if (error.interrupts()) throw;
        slice->rows = i;
        slice->error = error;
      }
    }

    template <size_t size>
    void CopyFixed(size_t place, Slice* slice) const {
      const int64_t at = slice->begin + shift_;
      const char* from = static_cast<const char*>(values_.values) + at * int64_t{size};
      for (size_t i = 0; i < slice->rows; ++i, from += size) {
        if (slice->left_out[i] == 0) std::memcpy(slice->records[i] + place, from, size);
      }
    }

    // Goes from `index` through the structs that begin at level `first` to the next list, or to
    // the values; returns the place in its buffers, or -1 if there is a null on the way.
    int64_t Resolve(size_t list, int64_t index) const {
      const size_t first = list == 0 ? 0 : column_.ends_[list - 1] + 1;
      for (size_t i = first; i <= column_.ends_[list]; ++i) {
        const Level& level = levels_[i];
        CheckRange(index, index + 1, level.length);
        index += level.offset;
        if (IsNullAt(level, index)) return -1;
      }
      return index;
    }

    Span RangeOf(size_t list, int64_t place) const {
      const size_t at = column_.ends_[list];
      const Level& level = levels_[at];
      Span span{};
      if (level.kind == Kind::kFixedList) {
        if (level.size > 0 && place > std::numeric_limits<int64_t>::max() / level.size - 1) {
          Throw(ErrorCode::kDataLoss, "an array of ", place, " lists");
        }
        span = {place * level.size, (place + 1) * level.size};
      } else if (level.kind == Kind::kList) {
        span = {ValueAt<int32_t>(level.values, place), ValueAt<int32_t>(level.values, place + 1)};
      } else {
        span = {ValueAt<int64_t>(level.values, place), ValueAt<int64_t>(level.values, place + 1)};
      }
      CheckRange(span.begin, span.end, levels_[at + 1].length);
      return span;
    }

    // Finds the values of a row; false if it has none. Throws if lists are not nested as the dims
    // say, or one within another is null.
    bool FindSpans(int64_t row) {
      spans_.clear();
      if (column_.lists_ == 0) {
        // A value is its own span. Whether it is null is told here.
        if (ValueAtRow(row) < 0) return false;
        spans_.push_back({row, row + 1});
        return true;
      }
      const int64_t place = Resolve(0, row);
      if (place < 0) return false;
      AddSpans(0, place);
      return true;
    }

    void AddSpans(size_t list, int64_t place) {
      const Span span = RangeOf(list, place);
      if (column_.lists_ > 1 && !field_.bytes) {
        const size_t axis = list + (field_.sequence ? 0 : 1);
        const int64_t dim = field_.slot.dims[axis];
        if (dim >= 0 && span.end - span.begin != dim) {
          Throw(ErrorCode::kDataLoss, "a list of it has ", span.end - span.begin, " values, ", dim,
                " are declared");
        }
      }
      if (list + 1 == column_.lists_) {
        spans_.push_back(span);
        return;
      }
      for (int64_t i = span.begin; i < span.end; ++i) {
        const int64_t inner = Resolve(list + 1, i);
        if (inner < 0) Throw(ErrorCode::kDataLoss, "a list within it is null");
        AddSpans(list + 1, inner);
      }
    }

    int64_t Count() const {
      int64_t count = 0;
      for (const Span& span : spans_) count += span.end - span.begin;
      return count;
    }

    // The place of a value in its buffers, or -1 if it is null.
    int64_t ValueAtRow(int64_t index) const {
      if (direct_) return index + shift_;
      const int64_t place = Resolve(column_.lists_, index);
      if (place < 0 || !column_.dictionary_) return place;
      const int64_t word = WordAt(levels_.back(), place);
      CheckRange(word, word + 1, values_.length);
      return IsNullAt(values_, word + values_.offset) ? -1 : word + values_.offset;
    }

    static int64_t WordAt(const Level& level, int64_t place) {
      switch (level.kind) {
        case Kind::kInt8:
          return ValueAt<int8_t>(level.values, place);
        case Kind::kUint8:
          return ValueAt<uint8_t>(level.values, place);
        case Kind::kInt16:
          return ValueAt<int16_t>(level.values, place);
        case Kind::kUint16:
          return ValueAt<uint16_t>(level.values, place);
        case Kind::kInt32:
          return ValueAt<int32_t>(level.values, place);
        case Kind::kUint32:
          return ValueAt<uint32_t>(level.values, place);
        case Kind::kUint64:  // one that is too large becomes negative, and is refused
        default:
          return ValueAt<int64_t>(level.values, place);
      }
    }

    // Calls function(place) for each value that was found; the place is -1 for a null.
    template <typename Function>
    void ForEachValue(const Function& function) const {
      for (const Span& span : spans_) {
        for (int64_t i = span.begin; i < span.end; ++i) function(ValueAtRow(i));
      }
    }

    void WriteValues(char** place) const {
      const size_t size = field_.value_bytes();
      if (column_.same_ && !has_nulls_ && !column_.dictionary_) {
        for (const Span& span : spans_) {
          int64_t at = span.begin;
          for (size_t i = column_.lists_ == 0 ? 0 : column_.ends_[column_.lists_ - 1] + 1;
               i < levels_.size(); ++i) {
            CheckRange(at, at + span.end - span.begin, levels_[i].length);
            at += levels_[i].offset;
          }
          const size_t bytes = static_cast<size_t>(span.end - span.begin) * size;
          if (bytes == 0) continue;
          std::memcpy(*place, static_cast<const char*>(values_.values) + at * int64_t(size), bytes);
          *place += bytes;
        }
        return;
      }
      ForEachValue([&](int64_t at) {
        if (at >= 0) {
          column_.write_(field_, values_, at, *place);
        } else {
          if (field_.missing != Field::Missing::kDefault) IsMissingValue("a value of it is null");
          field_.WriteDefault(1, *place);
        }
        *place += size;
      });
    }

    std::string_view TextOrDefault(int64_t at) const {
      if (at >= 0) return TextAt(values_, at);
      if (field_.missing != Field::Missing::kDefault) IsMissingValue("a value of it is null");
      return {};
    }

    static void PutText(std::string_view text, char** place) {
      if (!text.empty()) std::memcpy(*place, text.data(), text.size());
      *place += text.size();
    }

    // How many values stand for a missing one. Throws if nothing does.
    size_t MissingCount() const {
      if (field_.missing != Field::Missing::kDefault) IsMissingValue("it is null");
      return !field_.sequence || field_.has_default ? field_.values : 0;
    }

    void WriteMissing(char** place) const {
      const size_t count = MissingCount();
      field_.WriteDefault(count, *place);
      *place += count * field_.value_bytes();
    }

    uint64_t MeasureRow(int64_t row) {
      uint64_t bytes = 0;
      if (!FindSpans(row)) {
        bytes = field_.bytes ? 0 : MissingCount() * field_.value_bytes();
        MissingCount();
      } else if (field_.bytes) {
        ForEachValue([&](int64_t at) {
          bytes += TextOrDefault(at).size() + (field_.bytes_list ? sizeof(uint32_t) : 0);
        });
      } else {
        const auto count = static_cast<uint64_t>(Count());
        if (count % field_.values != 0) {
          Throw(ErrorCode::kDataLoss, "its ", count, " values are not whole steps of ",
                field_.values);
        }
        bytes = CheckedProduct(count, field_.value_bytes());
      }
      if (bytes > kMaxRecordBytes) {
        Throw(ErrorCode::kResourceLimit, "it has ", bytes, " bytes; the limit is ",
              kMaxRecordBytes);
      }
      return bytes;
    }

    bool IsMissing(int64_t row) {
      if (!FindSpans(row)) return true;
      bool missing = false;
      ForEachValue([&](int64_t at) {
        missing = missing || at < 0 ||
                  (field_.vocabulary != nullptr && field_.IsMissing(TextAt(values_, at)));
      });
      return missing;
    }

    const Column& column_;
    const Field& field_;
    std::vector<Level> levels_;  // from the batch to the values, or to the places in a dictionary
    Level values_;
    bool has_nulls_ = false;
    // Whether the value of each row lies `shift_` places behind its number.
    bool direct_ = false;
    int64_t shift_ = 0;
    std::vector<Span> spans_;
  };

 private:
  struct Step {
    Type type;
    size_t child;  // to which the next step goes
  };

  void CheckType(const ArrowSchema& found) const {
    const bool from_text = field_.names_things() || field_.decode == Field::Decode::kText;
    const std::string name = NameOf(found);
    if (value_.kind == Kind::kOther) {
      Throw(ErrorCode::kDataLoss, "it is ", name, ", which is not read");
    }
    if (value_.kind == Kind::kStruct) {
      Throw(ErrorCode::kDataLoss, "it is a struct; name one of its columns: ", NamesIn(found));
    }
    const bool dictionary_of_lists = dictionary_ && IsList(dictionary_->kind);
    const bool is_text = IsText(value_.kind);
    const bool fits = is_text ? field_.bytes || from_text : !field_.bytes && !from_text;
    if (dictionary_of_lists || (!fits && value_.kind != Kind::kNull)) {
      Throw(ErrorCode::kDataLoss, "it is ", lists_ > 0 ? "a list of " : "", name, ", ", Declared(),
            " is declared",
            is_text ? " (decode=text reads a number from text, hash= and vocab= number it)" : "");
    }
    if (value_.kind == Kind::kDecimal && field_.base != 10) {
      Throw(ErrorCode::kDataLoss, "it is ", name, ", which is of base 10");
    }
    // The leading axis of one element is that of the batch, unless it counts the steps.
    const size_t axes = field_.bytes      ? field_.bytes_list ? 1 : 0
                        : field_.sequence ? field_.slot.dims.size()
                                          : field_.slot.dims.size() - 1;
    if (lists_ > axes) {
      Throw(ErrorCode::kDataLoss, "it is a list", lists_ > 1 ? " of lists" : "", " of ", name,
            ", nested deeper than ", Declared());
    }
    if (lists_ == 0 && !field_.bytes && (field_.sequence || field_.values != 1)) {
      Throw(ErrorCode::kDataLoss, "it is ", name, ", one value; ", Declared(), " is declared");
    }
  }

  std::string Declared() const {
    return field_.bytes_list ? "bytes[-1]" : field_.bytes ? "bytes" : ToString(field_.slot);
  }

  const Field& field_;
  std::vector<Step> steps_;         // from the schema to the values
  std::vector<size_t> ends_;        // the steps that are lists, and the last one
  size_t lists_ = 0;                // on the way
  std::optional<Type> dictionary_;  // of what the values are places in
  Type value_;
  WriteValue write_ = nullptr;
  bool same_ = false;  // values are stored as the field has them
};

ArrowRows::ArrowRows(const ArrowFields& fields, const ArrowSchema& schema,
                     const std::vector<ArrowColumn>& columns)
    : fields_(fields) {
  for (size_t i = 0; i < columns.size(); ++i) {
    const Field& field = fields.fields()[i];
    InColumn(field,
             [&] { columns_.push_back(std::make_unique<Column>(field, schema, columns[i])); });
  }
}

ArrowRows::~ArrowRows() = default;

void ArrowRows::Append(const ArrowArray& batch, int64_t begin, int64_t end, uint64_t first_row,
                       Chunk* chunk) const {
  std::vector<Column::View> views;
  for (const auto& column : columns_) {
    InColumn(column->field(), [&] { views.emplace_back(*column, batch); });
  }
  Slice slice;
  for (; begin < end; begin += kSliceRows) {
    const auto rows = static_cast<size_t>(std::min(kSliceRows, end - begin));
    slice.begin = begin;
    slice.rows = rows;
    slice.bytes.assign(rows, fields_.fixed_bytes_);
    slice.left_out.assign(rows, 0);
    for (Column::View& view : views) view.LeaveOut(&slice);
    for (const size_t field : fields_.variable_) views[field].Measure(&slice);

    const bool begins = chunk->pieces.empty();
    const uint64_t used =
        begins ? 0 : uint64_t{chunk->pieces.back().offset} + chunk->pieces.back().size;
    uint64_t bytes = used;
    for (size_t i = 0; i < slice.rows; ++i) {
      if (slice.left_out[i] != 0) continue;
      bytes += slice.bytes[i];
      if (slice.bytes[i] <= kMaxRecordBytes && bytes <= kMaxExpandedChunkBytes &&
          chunk->pieces.size() + i < kMaxChunkRecords) {
        continue;
      }
      bytes -= slice.bytes[i];
      slice.rows = i;
      slice.error =
          Error(ErrorCode::kResourceLimit,
                StrCat("a record of ", slice.bytes[i], " bytes behind ", chunk->pieces.size() + i,
                       " of ", bytes, " bytes; the limits are ", kMaxRecordBytes, ", ",
                       kMaxChunkRecords, " and ", kMaxExpandedChunkBytes));
    }
    if (begins || chunk->bytes->capacity() < bytes) {
      const size_t room = begins ? bytes : std::max<uint64_t>(bytes, 2 * chunk->bytes->capacity());
      Ref<Buffer> larger = BufferPool::At(Place()).Take(room);
      if (used > 0) std::memcpy(larger->data(), chunk->bytes->data(), used);
      chunk->bytes = std::move(larger);
    }
    slice.records.resize(rows);
    slice.variable.resize(rows);
    char* place = chunk->bytes->data() + used;
    for (size_t i = 0; i < slice.rows; ++i) {
      slice.records[i] = place;
      slice.variable[i] = place + fields_.fixed_bytes_;
      if (slice.left_out[i] == 0) place += slice.bytes[i];
    }
    for (size_t field = 0; field < views.size(); ++field) {
      const Field& declared = columns_[field]->field();
      if (!declared.sequence) views[field].WriteFixed(fields_.places_[field], &slice);
    }
    for (const size_t field : fields_.variable_) views[field].WriteVariable(&slice);
    for (size_t i = 0; i < slice.rows; ++i) {
      if (slice.left_out[i] != 0) continue;
      chunk->pieces.push_back({static_cast<uint32_t>(slice.records[i] - chunk->bytes->data()),
                               static_cast<uint32_t>(slice.bytes[i])});
    }
    if (slice.error) {
      throw slice.error->WithMessage(StrCat("row ",
                                            first_row + static_cast<uint64_t>(begin) + slice.rows,
                                            ": ", slice.error->message()));
    }
  }
}

ArrowFields::ArrowFields(std::vector<Field> fields)
    : fields_(std::move(fields)), places_(fields_.size(), 0) {
  for (size_t i = 0; i < fields_.size(); ++i) {
    Require(fields_[i].decode != Field::Decode::kJson, "field '", Escaped(fields_[i].name),
            "': decode=json is not for columns");
    if (fields_[i].sequence) {
      variable_.push_back(i);
      continue;
    }
    places_[i] = fixed_bytes_;
    fixed_bytes_ += fields_[i].values * fields_[i].value_bytes();
    Require(fixed_bytes_ <= kMaxRecordBytes, "the fields together have more than ", kMaxRecordBytes,
            " bytes");
  }
}

void ArrowFields::Load(const Ticket* tickets, size_t n, Rows* rows) const {
  FieldRows field_rows(fields_, n, rows);
  for (size_t slot = 0; slot < fields_.size(); ++slot) {
    if (fields_[slot].sequence) continue;
    const size_t size = fields_[slot].values * fields_[slot].value_bytes();
    const size_t offset = places_[slot];
    char* place = field_rows.NextPlace(slot);
    const auto copy = [&](auto bytes) {
      for (size_t i = 0; i < n; ++i, place += bytes) {
        std::memcpy(place, tickets[i].bytes + offset, bytes);
      }
    };
    if (size == 8) {
      copy(std::integral_constant<size_t, 8>());
    } else if (size == 4) {
      copy(std::integral_constant<size_t, 4>());
    } else {
      copy(size);
    }
  }
  if (variable_.empty()) return;
  thread_local std::vector<std::string_view> values;
  for (size_t i = 0; i < n; ++i) {
    const char* here = tickets[i].bytes + fixed_bytes_;
    for (const size_t slot : variable_) {
      const Field& field = fields_[slot];
      const size_t count = TakeStored<uint32_t>(&here);
      if (field.bytes_list) {
        const char* sizes = here;
        here += count * sizeof(uint32_t);
        values.clear();
        for (size_t value = 0; value < count; ++value) {
          values.emplace_back(here, TakeStored<uint32_t>(&sizes));
          here += values.back().size();
        }
        field_rows.AppendBytes(slot, values);
      } else if (field.bytes) {
        field_rows.AppendBytes(slot, std::string_view(here, count));
        here += count;
      } else {
        const size_t bytes = count * field.value_bytes();
        char* const place = field_rows.Take(slot, count);
        if (bytes > 0) std::memcpy(place, here, bytes);
        here += bytes;
      }
    }
  }
}

ArrowColumn FindArrowColumn(const ArrowSchema& schema, const std::string& name) {
  ArrowColumn column;
  int64_t number = 0;
  std::string_view digits = name;
  const bool counted = StartsWith(digits, "#");
  if (counted) digits.remove_prefix(1);
  if (!FindIn(schema, name, &column)) {
    if (!counted || !TakeNumber(&digits, &number) || !digits.empty() || number < 0 ||
        number >= schema.n_children) {
      Throw(ErrorCode::kDataLoss, "no column is named '", Escaped(name), "'; there are ",
            NamesIn(schema));
    }
    const ArrowSchema& child = GoTo(schema, static_cast<size_t>(number), &column);
    ChildNamed(schema, NameIn(child));  // throws if the name does not tell which one it is
  }
  GoThroughLists(SchemaAt(schema, column), &column);
  return column;
}

namespace {

bool HasNulls(const ArrowArray* sample) {
  if (sample == nullptr) return false;
  const ArrowArray& array = *sample;
  if (array.null_count >= 0) return array.null_count > 0;
  Level level = LevelOf({Kind::kStruct, 0, 0}, array);
  for (int64_t i = 0; i < array.length; ++i) {
    if (IsNullAt(level, array.offset + i)) return true;
  }
  return false;
}

std::string DimsOf(const std::vector<int64_t>& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += StrCat(i > 0 ? ", " : "", dims[i]);
  return text + "]";
}

// Adds fields for a column and what is in it. `name` is its own with those of the structs around
// it, `dims` those of the lists around it.
void GuessIn(const ArrowSchema& schema, const ArrowArray* sample, const std::string& name,
             std::vector<int64_t> dims, bool has_nulls, std::vector<std::string>* fields) {
  if (dims.size() > kMaxNesting) return;
  has_nulls = has_nulls || HasNulls(sample);
  const bool dictionary = schema.dictionary != nullptr;
  const Type type = TypeOf(dictionary ? *schema.dictionary : schema);
  if (type.kind == Kind::kNull || type.kind == Kind::kOther) return;
  if (IsList(type.kind) || type.kind == Kind::kStruct) {
    if (dictionary || (sample != nullptr && sample->n_children != schema.n_children)) return;
    if (type.kind == Kind::kFixedList && type.size == 0) return;
    if (IsList(type.kind)) dims.push_back(type.kind == Kind::kFixedList ? type.size : -1);
    for (size_t i = 0; i < ChildrenOf(schema); ++i) {
      const ArrowSchema& child = *schema.children[i];
      const std::string child_name(NameIn(child));
      GuessIn(child, sample == nullptr ? nullptr : sample->children[i],
              IsList(type.kind) ? name
              : name.empty()    ? child_name
                                : StrCat(name, ".", child_name),
              dims, has_nulls, fields);
    }
    return;
  }
  const bool is_text = IsText(type.kind);
  // What the notation has no dims for is left out.
  if (is_text && dims.size() > 1) return;
  if (std::find(dims.begin(), dims.end(), -1) > dims.begin() &&
      std::find(dims.begin(), dims.end(), -1) != dims.end()) {
    return;
  }
  if (std::count(dims.begin(), dims.end(), -1) > 1) return;
  if (name.empty() || name.find('"') != std::string::npos) return;
  const NamedType* const named = FindNamed(FormatOf(dictionary ? *schema.dictionary : schema));
  const DataType dtype = named != nullptr              ? named->guess
                         : type.kind == Kind::kDecimal ? DataType::kFp64
                                                       : DataType::kInt64;
  const bool quoted = name.find_first_of(" \t") != std::string::npos;
  const bool one = dims.empty() && !is_text;
  fields->push_back(
      StrCat(quoted ? "\"" + name + "\"" : name, " ",
             is_text ? dims.empty() ? "bytes" : "bytes[-1]" : StrCat(ToString(dtype), DimsOf(dims)),
             !has_nulls ? ""
             : one      ? " default=0"
                        : " missing=default"));
}

}  // namespace

std::vector<std::string> GuessArrowFields(const ArrowSchema& schema, const ArrowArray* sample) {
  std::vector<std::string> fields;
  GuessIn(schema, sample, "", {}, false, &fields);
  return fields;
}

}  // namespace millhopper
