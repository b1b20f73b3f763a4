// SPDX-License-Identifier: Apache-2.0
#include "readers/fields.h"

#include <fast_float/fast_float.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/memory.h"
#include "framework/base/spelling.h"
#include "readers/text_file.h"
#include "readers/timestamp.h"

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
  // A byte of more than 9 gets its highest bit. It may change what lies behind it, never before.
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

const char* ReadBool(const Field&, const char* begin, const char* end, char* place) {
  static constexpr struct {
    std::string_view text;
    bool value;
  } kWords[] = {{"true", true}, {"false", false}, {"True", true}, {"False", false},
                {"TRUE", true}, {"FALSE", false}, {"1", true},    {"0", false}};
  const std::string_view text(begin, static_cast<size_t>(end - begin));
  for (const auto& word : kWords) {
    if (text.substr(0, word.text.size()) != word.text) continue;
    *place = word.value ? 1 : 0;
    return begin + word.text.size();
  }
  return nullptr;
}

// Puts a number times the scale. False for one that the type cannot hold: it would become infinite.
bool PutFloat(const Field& field, double number, char* place) {
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
  return read != nullptr && PutFloat(field, value, place) ? read : nullptr;
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
  } else if (field.missing == Field::Missing::kDefault) {
    field.WriteDefault(1, place);
  } else {
    Throw(ErrorCode::kDataLoss, "'", Shown(word), "' is no word of its vocabulary");
  }
  return end;
}

const char* ReadTimestamp(const Field& field, const char* begin, const char* end, char* place) {
  const std::string_view text(begin, static_cast<size_t>(end - begin));
  int64_t ticks;
  if (ParseTimestamp(text, field.ticks_per_second, &ticks) != nullptr) return nullptr;
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
    } else if (field.missing == Field::Missing::kDefault) {
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
  } else if (field->base == 10) {
    SetReader<ReadDecimal<T>, sizeof(T)>(field);
  } else if (field->base == 16) {
    SetReader<ReadHexadecimal<T>, sizeof(T)>(field);
  } else {
    SetReader<ReadInteger<T>, sizeof(T)>(field);
  }
}

void SetReaders(Field* field) {
  switch (field->slot.dtype) {
    case DataType::kBool:
      return SetReader<ReadBool, 1>(field);
    case DataType::kInt8:
      return SetIntegerReader<int8_t>(field);
    case DataType::kUint8:
      return SetIntegerReader<uint8_t>(field);
    case DataType::kInt16:
      return SetIntegerReader<int16_t>(field);
    case DataType::kInt32:
      return SetIntegerReader<int32_t>(field);
    case DataType::kInt64:
      return SetIntegerReader<int64_t>(field);
    case DataType::kUint16:
      return SetIntegerReader<uint16_t>(field);
    case DataType::kUint32:
      return SetIntegerReader<uint32_t>(field);
    case DataType::kUint64:
      return SetIntegerReader<uint64_t>(field);
    case DataType::kFp32:
      if (field->scale == 1) return SetReader<ReadFloat32, 4>(field);
      return SetReader<ReadAnyFloat, 4>(field);
    case DataType::kFp64:
      return SetReader<ReadAnyFloat, 8>(field);
    case DataType::kFp16:
    case DataType::kBf16:
      return SetReader<ReadAnyFloat, 2>(field);
  }
}

// --- From numbers ---

[[noreturn]] void OutOfRange(const Field& field, const std::string& number) {
  Throw(ErrorCode::kDataLoss, number, " is no ", ToString(field.slot.dtype));
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
      if (!PutFloat(field, static_cast<double>(number), place)) {
        OutOfRange(field, StrCat(number));
      }
  }
}

// --- The notation ---

// Cuts an entry into its words. Quotes keep spaces together, and so do the brackets of dims.
class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) {}

  bool Next(std::string* word) {
    word->clear();
    const size_t begin = rest_.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return false;
    rest_.remove_prefix(begin);
    bool quoted = false, bracketed = false;
    size_t at = 0;
    for (; at < rest_.size(); ++at) {
      const char c = rest_[at];
      if (c == '"') {
        quoted = !quoted;
        continue;
      }
      if (!quoted && !bracketed && (c == ' ' || c == '\t')) break;
      if (!quoted && c == '[') bracketed = true;
      if (!quoted && c == ']') bracketed = false;
      word->push_back(c);
    }
    Require(!quoted, "a quote is not closed");
    Require(!bracketed, "a bracket is not closed");
    rest_.remove_prefix(at);
    return true;
  }

 private:
  std::string_view rest_;
};

DataType TypeNamed(const std::string& name) {
  std::string names;
  for (const DataType type : kDataTypes) {
    if (name == ToString(type)) return type;
    names += StrCat(ToString(type), ", ");
  }
  const bool is_time =
      name.find("time") != std::string::npos || name.find("date") != std::string::npos;
  Throw(ErrorCode::kInvalidArgument, "'", Escaped(name), "' is no type; it is one of ", names,
        "each with its dims behind it ([] for a scalar), or for text bytes, for a list of texts "
        "bytes[-1]",
        is_time ? "; a date or time as text is int64[] decode=timestamp" : "");
}

template <typename T>
T WholeNumber(const std::string& text, const char* what) {
  T number{};
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  Require(read.ec == std::errc() && read.ptr == end && !text.empty(), what, " '", Escaped(text),
          "' is no number");
  return number;
}

void ParseType(const std::string& text, Field* field) {
  if (text == "bytes" || text == "bytes[-1]") {
    field->bytes = field->sequence = true;
    field->bytes_list = text != "bytes";
    field->slot.dtype = DataType::kUint8;
    field->value_bytes_ = 1;
    field->slot.dims = Dims{-1};
    field->slot.lod_level = field->bytes_list ? 2 : 1;
    return;
  }
  const size_t open = text.find('[');
  field->slot.dtype = TypeNamed(text.substr(0, open));
  field->value_bytes_ = SizeOf(field->slot.dtype);
  Require(open != std::string::npos && text.back() == ']', "'", Escaped(text),
          "' has no dims; a scalar is ", ToString(field->slot.dtype), "[]");
  std::string dims = text.substr(open + 1, text.size() - open - 2);
  dims.erase(std::remove(dims.begin(), dims.end(), ' '), dims.end());
  field->sequence = dims == "-1" || dims.compare(0, 3, "-1,") == 0;
  field->slot.lod_level = field->sequence ? 1 : 0;
  field->slot.dims.push_back(field->sequence ? -1 : 1);
  if (field->sequence) dims.erase(0, 3);
  while (!dims.empty()) {
    const size_t comma = dims.find(',');
    const auto dim = WholeNumber<int64_t>(dims.substr(0, comma), "the dim");
    Require(dim >= 1, "the dim ", dim, " is not positive; only the first may be -1, any number");
    field->slot.dims.push_back(dim);
    field->values = CheckedProduct(field->values, static_cast<size_t>(dim));
    dims.erase(0, comma == std::string::npos ? comma : comma + 1);
    Require(comma == std::string::npos || !dims.empty(), "a dim is missing behind the last comma");
  }
  if (CheckedProduct(field->values, field->value_bytes()) > kMaxRecordBytes) {
    Throw(ErrorCode::kResourceLimit, "a tensor of more than ", kMaxRecordBytes, " bytes");
  }
}

double ParseScale(const std::string& text) {
  const size_t slash = text.find('/');
  double parts[] = {1, 1};
  for (size_t i = 0; i < (slash == std::string::npos ? 1 : 2); ++i) {
    const std::string part = i == 1 ? text.substr(slash + 1) : text.substr(0, slash);
    const char* const end = part.data() + part.size();
    Require(
        ReadFloat(part.data(), end, &parts[i]) == end && !part.empty() && std::isfinite(parts[i]),
        "scale=", Escaped(text), " is no number such as 0.5 or 1/255");
  }
  Require(parts[1] != 0, "scale=", Escaped(text), " divides by zero");
  return parts[0] / parts[1];
}

// The texts between commas.
std::vector<std::string> ParseNulls(const std::string& text) {
  std::vector<std::string> nulls;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    nulls.push_back(text.substr(begin, comma - begin));
    Require(!nulls.back().empty(), "null=", Escaped(text),
            " has an empty text among its own, which are such as NULL,NA; an empty cell is no "
            "number anyway");
    begin = comma + 1;
  }
  return nulls;
}

char ParseSeparator(const std::string& text) {
  if (text == "\\t") return '\t';
  Require(text.size() == 1 && text[0] != '\n' && text[0] != '\r', "separator=", Escaped(text),
          " is not one character other than a line end");
  return text[0];
}

// Sets *value to the meaning of the one of the words that the text is.
template <typename T>
void OneOf(const std::string& option, const std::string& text,
           const std::vector<std::pair<const char*, T>>& words, T* value) {
  std::string names;
  for (const auto& [word, meaning] : words) {
    if (text == word) {
      *value = meaning;
      return;
    }
    names += StrCat(names.empty() ? "" : ", ", word);
  }
  Throw(ErrorCode::kInvalidArgument, option, "=", Escaped(text), "; it is one of ", names);
}

// A null that reads as a number, such as nan, is seen before the number only where cells are read
// one by one.
void KeepNullsFromNumbers(Field* field) {
  char place[8];
  for (const std::string& null : field->nulls) {
    const char* const end = null.data() + null.size();
    if (field->read_cells_ != nullptr && field->Read(null.data(), end, place) == end) {
      field->read_cells_ = nullptr;
    }
  }
}

Field ParseField(const std::string& entry) {
  static const std::vector<std::string> kOptions = {"default", "missing",  "null",  "base",
                                                    "hash",    "vocab",    "scale", "decode",
                                                    "unit",    "separator"};
  Field field;
  Words words(entry);
  std::string word, default_text;
  Require(words.Next(&field.name) && words.Next(&word),
          "an entry is \"name dtype[dims] option=value ...\", such as \"label int64[]\"; a scalar "
          "is int64[] or float32[], text is bytes");
  ParseType(word, &field);
  bool missing_given = false, unit_given = false;
  while (words.Next(&word)) {
    const size_t equal = word.find('=');
    const std::string option = word.substr(0, equal);
    const std::string text = equal == std::string::npos ? std::string() : word.substr(equal + 1);
    Require(equal != std::string::npos, "'", Escaped(word), "' is no option=value");
    const bool is_integer = !IsFloat(field.slot.dtype) && field.slot.dtype != DataType::kBool;
    if (option == "default") {
      default_text = text;
      field.has_default = true;
    } else if (option == "missing") {
      OneOf<Field::Missing>(option, text,
                            {{"error", Field::Missing::kError},
                             {"default", Field::Missing::kDefault},
                             {"skip", Field::Missing::kSkip}},
                            &field.missing);
      missing_given = true;
    } else if (option == "base") {
      field.base = WholeNumber<int>(text, "base");
      Require(is_integer && field.base >= 2 && field.base <= 36, "base=", Escaped(text),
              "; it is 2 to 36, for integers");
    } else if (option == "hash") {
      field.buckets = WholeNumber<uint64_t>(text, "hash");
      Require(field.slot.dtype == DataType::kInt32 || field.slot.dtype == DataType::kInt64,
              "hash= is for int32 and int64");
      Require(field.buckets > 0 &&
                  field.buckets <= (field.slot.dtype == DataType::kInt32
                                        ? uint64_t{std::numeric_limits<int32_t>::max()}
                                        : uint64_t{std::numeric_limits<int64_t>::max()}),
              "hash=", field.buckets, " is no number of buckets that the type can hold");
    } else if (option == "vocab") {
      Require(field.slot.dtype == DataType::kInt32 || field.slot.dtype == DataType::kInt64,
              "vocab= is for int32 and int64");
      field.vocabulary = std::make_shared<Vocabulary>(text);
      Require(field.vocabulary->size() > 0, "the vocabulary ", Escaped(text), " is empty");
    } else if (option == "scale") {
      field.scale = ParseScale(text);
      Require(IsFloat(field.slot.dtype), "scale= is for floats");
    } else if (option == "decode") {
      OneOf<Field::Decode>(option, text,
                           {{"text", Field::Decode::kText},
                            {"timestamp", Field::Decode::kTimestamp},
                            {"json", Field::Decode::kJson}},
                           &field.decode);
      Require(!field.bytes, "decode= is for numbers; bytes stay as they are");
      Require(field.decode != Field::Decode::kTimestamp || field.slot.dtype == DataType::kInt64,
              "decode=timestamp is for int64: seconds since 1970-01-01 UTC, or what unit= says");
    } else if (option == "unit") {
      OneOf<int64_t>(option, text,
                     {{"s", 1}, {"ms", 1'000}, {"us", 1'000'000}, {"ns", 1'000'000'000}},
                     &field.ticks_per_second);
      unit_given = true;
    } else if (option == "null") {
      field.nulls = ParseNulls(text);
    } else if (option == "separator") {
      field.separator = ParseSeparator(text);
      Require(field.bytes ? field.bytes_list : field.slot.dims != Dims{1},
              "separator= is for several values, such as int64[-1] or bytes[-1]");
    } else {
      const std::string meant = DidYouMean(option, kOptions);
      Throw(ErrorCode::kInvalidArgument, "there is no option '", Escaped(option), "'",
            meant.empty() ? ";" : meant, " there are ", Listed(kOptions));
    }
  }
  Require(!field.bytes || !(field.names_things() || field.base != 10 || field.has_default),
          "bytes stay as they are; of the options, missing=, null= and separator= alone are for "
          "them");
  const bool is_time = field.decode == Field::Decode::kTimestamp;
  Require((field.buckets > 0) + (field.vocabulary != nullptr) + (field.base != 10) + is_time <= 1,
          "only one of base=, hash=, vocab= and decode=timestamp can be");
  Require(is_time || !unit_given, "unit= is for decode=timestamp");
  if (field.has_default) {
    Require(!missing_given || field.missing == Field::Missing::kDefault,
            "default= is not used with another missing= than default");
    field.missing = Field::Missing::kDefault;
    Field plain = field;  // the default is a number, also of a field that names things
    plain.buckets = 0;
    plain.vocabulary = nullptr;
    plain.nulls.clear();
    plain.decode = Field::Decode::kNone;
    plain.scale = 1;
    plain.base = 10;
    SetReaders(&plain);
    plain.ReadAll(default_text, field.default_value_);
  }
  SetReaders(&field);
  KeepNullsFromNumbers(&field);
  return field;
}

// Spaces around a number mean nothing.
std::string_view WithoutSpaces(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

void Field::ReadAll(std::string_view text, char* place) const {
  if (IsNull(text)) {
    if (missing != Missing::kDefault) ThrowNull(text);
    return WriteDefault(1, place);
  }
  const std::string_view value = names_things() ? text : WithoutSpaces(text);
  const char* const end = value.data() + value.size();
  if (Read(value.data(), end, place) == end && (!value.empty() || names_things())) return;
  if (decode == Decode::kTimestamp) {
    int64_t ticks;
    Throw(ErrorCode::kDataLoss, "'", Shown(text),
          "' is no timestamp: ", ParseTimestamp(value, ticks_per_second, &ticks));
  }
  Throw(ErrorCode::kDataLoss, "'", Shown(text), "' is no ", ToString(slot.dtype),
        base == 10 ? "" : StrCat(" of base ", base));
}

void Field::Write(int64_t number, char* place) const { WriteInteger(*this, number, place); }

void Field::Write(uint64_t number, char* place) const { WriteInteger(*this, number, place); }

void Field::Write(double number, char* place) const {
  if (IsFloat(slot.dtype)) {
    if (!PutFloat(*this, number, place)) OutOfRange(*this, StrCat(number));
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

void Field::ThrowMissing(const std::string& problem) const {
  Throw(ErrorCode::kDataLoss, problem, " (",
        bytes ? "missing=default" : "default=", " or missing=skip behind the field allow that)");
}

void Field::ThrowNull(std::string_view text) const {
  ThrowMissing(StrCat("'", Shown(text), "' is no value, as null= says"));
}

std::string_view Field::BytesOf(std::string_view text) const {
  if (!IsNull(text)) return text;
  if (missing != Missing::kDefault) ThrowNull(text);
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

std::vector<Field> ParseFields(const std::vector<std::string>& entries) {
  if (entries.size() > kMaxSlots) {
    Throw(ErrorCode::kResourceLimit, entries.size(), " fields; the limit is ", kMaxSlots);
  }
  std::vector<Field> fields;
  for (size_t i = 0; i < entries.size(); ++i) {
    try {
      fields.push_back(ParseField(entries[i]));
    } catch (const Error& error) {
      if (!error.file().empty()) throw;
      throw Error(error.code() == ErrorCode::kDataLoss ? ErrorCode::kInvalidArgument : error.code(),
                  StrCat("fields[", i, "], '", Shown(entries[i]), "': ", error.message()));
    }
  }
  return fields;
}

std::vector<std::string> NamesOf(const std::vector<std::string>& entries) {
  std::vector<std::string> names(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) Words(entries[i]).Next(&names[i]);
  return names;
}

std::vector<Field> RequiredFields(const AttributeMap& attributes) {
  std::vector<Field> fields = ParseFields(attributes.Get<std::vector<std::string>>("fields"));
  Require(!fields.empty(),
          "this format needs the attribute fields, such as fields: \"label int64[]\"; "
          "`millhopper-peek FILE` prints some that fit a file");
  return fields;
}

void RefuseCellOptions(const Field& field) {
  Require(field.separator == 0, "field '", Escaped(field.name),
          "': separator= is for the cells of csv and tsv");
  Require(field.nulls.empty(), "field '", Escaped(field.name),
          "': null= is for the texts of csv, tsv and jsonl");
}

std::vector<SlotSpec> SlotsOf(const std::vector<Field>& fields) {
  std::vector<SlotSpec> slots;
  slots.reserve(fields.size());
  for (const Field& field : fields) slots.push_back(field.slot);
  return slots;
}

std::string QuotedEntry(const std::string& entry) {
  const char quote = entry.find('"') == std::string::npos ? '"' : '\'';
  std::string text;
  for (const char c : entry) text += c == '\\' ? "\\\\" : std::string(1, c);
  return StrCat(quote, Escaped(text), quote);
}

std::string Listed(const std::vector<std::string>& names) {
  constexpr size_t kMostNames = 20;
  constexpr size_t kMostBytes = 60;  // of a name
  std::string listed;
  for (size_t i = 0; i < std::min(kMostNames, names.size()); ++i) {
    listed += StrCat(i > 0 ? ", '" : "'", Escaped(names[i].substr(0, kMostBytes)), "'");
  }
  return names.size() > kMostNames ? listed + " and more" : listed;
}

bool AnySkips(const std::vector<Field>& fields) {
  return std::any_of(fields.begin(), fields.end(),
                     [](const Field& field) { return field.missing == Field::Missing::kSkip; });
}

AttributeSchema FieldsAttribute(const std::string& names) {
  return AttributeSchema(
      "fields", std::vector<std::string>{},
      "the slots, each \"name dtype[dims] option=value ...\"; the names are " + names +
          ". dims: [] a scalar, [28, 28] a tensor, [-1] a sequence; bytes in place of both: as "
          "they are, bytes[-1] a list of such. Options: default=, missing=error|default|skip, "
          "base=16, hash=BUCKETS (XXH64 "
          "with seed 0, modulo BUCKETS), vocab=FILE (line numbers from 0 on), scale=1/255, "
          "decode=text|timestamp|json, unit=s|ms|us|ns of a timestamp, null=NULL,NA (texts that "
          "are no value), separator=CHARACTER (between several values in a cell)");
}

}  // namespace millhopper
