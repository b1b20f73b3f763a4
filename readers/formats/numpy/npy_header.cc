// SPDX-License-Identifier: Apache-2.0
#include "readers/formats/numpy/npy_header.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"

namespace millhopper {
namespace {

constexpr char kMagic[] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};
constexpr size_t kMostHeaderBytes = size_t{1} << 20;
constexpr size_t kShownBytes = 60;  // of a text that is wrong
constexpr uint64_t kMostValueBytes = uint64_t{1} << 62;

std::string Shown(std::string_view text) {
  return Escaped(std::string(text.substr(0, kShownBytes))) +
         (text.size() > kShownBytes ? "..." : "");
}

// Reads the dictionary. The error of a wrong one says at which character.
class DictionaryParser {
 public:
  explicit DictionaryParser(std::string_view text) : text_(text) {}

  void Parse() {
    Expect('{');
    while (!Accept('}')) {
      ParseEntry();
      if (Accept(',')) continue;
      Expect('}');
      break;
    }
    SkipSpaces();
    // The end is in the bytes that the header's length names, so a wrong length is noticed.
    if (at_ + 1 != text_.size() || text_[at_] != '\n') {
      Fail("the dictionary must be followed by spaces and one line feed, the header's last byte");
    }
    if (!descr || !fortran_order || !shape) Fail("it lacks 'descr', 'fortran_order' or 'shape'");
  }

  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<uint64_t>> shape;

 private:
  void ParseEntry() {
    const std::string_view key = ParseString();
    Expect(':');
    SkipSpaces();
    if (key == "descr" && !descr) {
      if (at_ < text_.size() && text_[at_] == '[') {
        Throw(ErrorCode::kDataLoss, "its dtype is structured, ", Shown(text_.substr(at_)),
              ", and only plain dtypes are read; save each of its fields as an array");
      }
      descr = ParseString();
    } else if (key == "fortran_order" && !fortran_order) {
      fortran_order = ParseBool();
    } else if (key == "shape" && !shape) {
      shape = ParseShape();
    } else {
      Fail(StrCat("'", Shown(key), "' is no key of it, or comes twice"));
    }
  }

  std::string_view ParseString() {
    SkipSpaces();
    if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) Fail("no string here");
    const size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) Fail("a string without an end");
    const std::string_view string = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return string;
  }

  bool ParseBool() {
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return value;
    }
    Fail("neither True nor False");
  }

  std::vector<uint64_t> ParseShape() {
    std::vector<uint64_t> lengths;
    Expect('(');
    while (!Accept(')')) {
      if (lengths.size() > kMaxRank) {
        Throw(ErrorCode::kResourceLimit, "it has more than ", kMaxRank,
              " axes, which is the limit");
      }
      lengths.push_back(ParseNumber());
      if (Accept(',')) continue;
      if (lengths.size() == 1) Fail("a tuple of one has a comma");
      Expect(')');
      break;
    }
    return lengths;
  }

  uint64_t ParseNumber() {
    SkipSpaces();
    const size_t begin = at_;
    uint64_t number = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      const auto digit = static_cast<uint64_t>(text_[at_] - '0');
      if (number > (INT64_MAX - digit) / 10) Fail("a length beyond 64 bits");
      number = 10 * number + digit;
    }
    if (at_ == begin) Fail("no length of an axis here");
    if (text_[begin] == '0' && at_ - begin > 1) Fail("a length with zeros before it");
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // as Python 2 wrote them
    return number;
  }

  void SkipSpaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  bool Accept(char wanted) {
    SkipSpaces();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  void Expect(char wanted) {
    if (!Accept(wanted)) Fail(StrCat("'", wanted, "' is missing here"));
  }

  [[noreturn]] void Fail(const std::string& problem) const {
    Throw(ErrorCode::kDataLoss, "its npy header is damaged at character ", at_, ", '",
          Shown(text_.substr(std::min(at_, text_.size()))), "': ", problem);
  }

  const std::string_view text_;
  size_t at_ = 0;
};

[[noreturn]] void RefuseType(const std::string& descr, const std::string& reason) {
  Throw(ErrorCode::kDataLoss, "its dtype is '", Shown(descr), "': ", reason);
}

NpyType PlainTypeOf(std::string_view kind) {
  using Change = NpyType::Change;
  static constexpr struct {
    std::string_view kind;
    NpyType type;
  } kTypes[] = {
      {"b1", {DataType::kBool, 1, 0, false, Change::kCheckBool}},
      {"i1", {DataType::kInt8, 1, 0, false, Change::kNone}},
      {"i2", {DataType::kInt16, 2, 0, false, Change::kNone}},
      {"i4", {DataType::kInt32, 4, 0, false, Change::kNone}},
      {"i8", {DataType::kInt64, 8, 0, false, Change::kNone}},
      {"u1", {DataType::kUint8, 1, 0, false, Change::kNone}},
      {"u2", {DataType::kUint16, 2, 0, false, Change::kNone}},
      {"u4", {DataType::kUint32, 4, 0, false, Change::kNone}},
      {"u8", {DataType::kUint64, 8, 0, false, Change::kNone}},
      {"f2", {DataType::kFp16, 2, 0, false, Change::kNone}},
      {"f4", {DataType::kFp32, 4, 0, false, Change::kNone}},
      {"f8", {DataType::kFp64, 8, 0, false, Change::kNone}},
      {"c8", {DataType::kFp32, 4, 2, false, Change::kNone}},
      {"c16", {DataType::kFp64, 8, 2, false, Change::kNone}},
  };
  for (const auto& entry : kTypes) {
    if (entry.kind == kind) return entry.type;
  }
  return {DataType::kUint8, 0, 0, false, Change::kNone};
}

// Bytes ("S5") are uint8, code points ("U5") int32, as many as the longest text has.
NpyType TextTypeOf(std::string_view kind) {
  constexpr size_t kMostDigits = 10;
  uint64_t length = 0;
  const bool digits =
      kind.size() > 1 && kind.size() <= 1 + kMostDigits &&
      std::all_of(kind.begin() + 1, kind.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (digits) {
    for (const char c : kind.substr(1)) length = 10 * length + static_cast<uint64_t>(c - '0');
  }
  if (length == 0) return {DataType::kUint8, 0, 0, false, NpyType::Change::kNone};
  if (kind[0] == 'S') return {DataType::kUint8, 1, length, false, NpyType::Change::kNone};
  return {DataType::kInt32, 4, length, false, NpyType::Change::kNone};
}

NpyType TypeOf(const std::string& descr) {
  const char order = descr.empty() ? '\0' : descr[0];
  const std::string_view kind = std::string_view(descr).substr(descr.empty() ? 0 : 1);
  const char letter = kind.empty() ? '\0' : kind[0];
  if (letter == 'O') RefuseType(descr, "object arrays are pickles, which are never loaded");
  if (letter == 'M' || letter == 'm') {
    RefuseType(descr, "dates are not read; save them as int64, with view('int64')");
  }
  NpyType type = letter == 'S' || letter == 'U' ? TextTypeOf(kind) : PlainTypeOf(kind);
  const bool order_known = order == '<' || order == '>' || (order == '|' && type.bytes == 1);
  if (type.bytes == 0 || !order_known) {
    RefuseType(descr,
               "not one of bool, int8 to int64, uint8 to uint64, float16 to float64, "
               "complex64, complex128, "
               "or text of at least one character, with its byte order before it");
  }
  type.other_endian = order == '>' && type.bytes > 1;
  return type;
}

NpyHeader HeaderOf(std::string_view text) {
  DictionaryParser dictionary(text);
  dictionary.Parse();
  NpyHeader header;
  header.type = TypeOf(*dictionary.descr);
  header.fortran_order = *dictionary.fortran_order;
  const std::vector<uint64_t>& shape = *dictionary.shape;
  header.records = shape.empty() ? 1 : shape[0];
  header.spec.dtype = header.type.dtype;
  header.spec.dims = Dims{1};
  for (size_t i = 1; i < shape.size(); ++i) {
    header.spec.dims.push_back(static_cast<int64_t>(shape[i]));
  }
  if (header.type.last_axis > 0) {
    header.spec.dims.push_back(static_cast<int64_t>(header.type.last_axis));
  }
  // As tensors, which may be wider than the file has them (DeclareNpy).
  const bool widens =
      header.type.dtype == DataType::kUint16 || header.type.dtype == DataType::kUint32;
  const uint64_t widest = widens ? 2 * header.type.bytes : header.type.bytes;
  uint64_t numbers = 1;
  for (const int64_t dim : header.spec.dims) {
    const auto length = static_cast<uint64_t>(dim);
    if (length > 0 && numbers > kMaxRecordBytes / widest / length) {
      Throw(ErrorCode::kResourceLimit, "its header declares records of more than ", kMaxRecordBytes,
            " bytes");
    }
    numbers *= length;
  }
  header.numbers = numbers;
  header.record_bytes = numbers * header.type.bytes;
  if (header.record_bytes > 0 && header.records > kMostValueBytes / header.record_bytes) {
    Throw(ErrorCode::kResourceLimit, "its header declares ", header.records, " records of ",
          header.record_bytes, " bytes, which is more than any file has");
  }
  return header;
}

uint32_t LittleEndian(const char* bytes, size_t size) {
  uint32_t number = 0;
  std::memcpy(&number, bytes, size);
  return number;
}

template <typename T>
T Swapped(T number) {
  if constexpr (sizeof(T) == 2) return __builtin_bswap16(number);
  if constexpr (sizeof(T) == 4) return __builtin_bswap32(number);
  if constexpr (sizeof(T) == 8) return __builtin_bswap64(number);
  return number;
}

// Stored numbers of type T become tensors of type To, which holds them all.
template <typename T, typename To, bool kSwap>
void CopyAs(const char* from, size_t numbers, char* to) {
  for (size_t i = 0; i < numbers; ++i) {
    T number;
    std::memcpy(&number, from + i * sizeof(T), sizeof(T));
    const To value = static_cast<To>(kSwap ? Swapped(number) : number);
    std::memcpy(to + i * sizeof(To), &value, sizeof(To));
  }
}

template <typename T, typename To>
void CopyOrSwap(const NpyType& type, const char* from, size_t numbers, char* to) {
  if (type.other_endian) return CopyAs<T, To, true>(from, numbers, to);
  return CopyAs<T, To, false>(from, numbers, to);
}

void CheckUint64s(const char* values, size_t numbers) {
  for (size_t i = 0; i < numbers; ++i) {
    uint64_t value;
    std::memcpy(&value, values + 8 * i, 8);
    if (value > INT64_MAX) {
      Throw(ErrorCode::kDataLoss, "value ", i, " is ", value,
            ", which int64 cannot hold; declare the slot as uint64");
    }
  }
}

void CopySame(const NpyType& type, const char* from, size_t numbers, char* to) {
  if (!type.other_endian) {
    if (numbers > 0) std::memcpy(to, from, numbers * type.bytes);
    return;
  }
  switch (type.bytes) {
    case 2:
      return CopyAs<uint16_t, uint16_t, true>(from, numbers, to);
    case 4:
      return CopyAs<uint32_t, uint32_t, true>(from, numbers, to);
    default:
      return CopyAs<uint64_t, uint64_t, true>(from, numbers, to);
  }
}

}  // namespace

NpyHeader ReadNpyHeader(ByteStream* stream) {
  const uint64_t begin = stream->position();
  const auto fail = [&](ErrorCode code, const std::string& problem) {
    const uint64_t place = stream->plain() ? begin : 0;
    throw Error(code, problem).InFile(stream->path(), static_cast<int64_t>(place));
  };
  const auto read = [&](char* out, size_t size) {
    if (stream->Read(out, size) < size) {
      char next;
      stream->Read(&next, 1);  // throws if the array ends where an error is
      fail(ErrorCode::kDataLoss, StrCat("the array ends at ", stream->Describe(stream->position()),
                                        " in its npy header"));
    }
  };
  char head[sizeof(kMagic) + 2 + 4];
  read(head, sizeof(kMagic) + 2);
  if (!IsNpy(head, sizeof(kMagic))) {
    fail(ErrorCode::kDataLoss, "no npy array: it does not begin with \\x93NUMPY");
  }
  const int major = static_cast<unsigned char>(head[sizeof(kMagic)]);
  const int minor = static_cast<unsigned char>(head[sizeof(kMagic) + 1]);
  if (major < 1 || major > 3 || minor != 0) {
    fail(ErrorCode::kDataLoss, StrCat("an npy array of version ", major, ".", minor,
                                      "; versions 1.0, 2.0 and 3.0 are read"));
  }
  const size_t length_bytes = major == 1 ? 2 : 4;
  read(head, length_bytes);
  const uint32_t length = LittleEndian(head, length_bytes);
  if (length > kMostHeaderBytes) {
    fail(ErrorCode::kResourceLimit,
         StrCat("its npy header declares ", length, " bytes; the limit is ", kMostHeaderBytes));
  }
  if (length > stream->most_left()) {
    fail(ErrorCode::kDataLoss,
         StrCat("its npy header declares ", length, " bytes, which are more than follow"));
  }
  std::string text(length, '\0');
  read(text.data(), text.size());
  try {
    return HeaderOf(text);
  } catch (const Error& error) {
    fail(error.code(), error.message());
    throw;
  }
}

void DeclareNpy(DataType declared, NpyHeader* header) {
  using Change = NpyType::Change;
  static constexpr struct {
    DataType stored, declared;
    Change change;
  } kSigned[] = {
      {DataType::kUint16, DataType::kInt32, Change::kWidenUint16},
      {DataType::kUint32, DataType::kInt64, Change::kWidenUint32},
      {DataType::kUint64, DataType::kInt64, Change::kCheckUint64},
  };
  for (const auto& pair : kSigned) {
    if (header->type.dtype != pair.stored || declared != pair.declared) continue;
    header->type.dtype = header->spec.dtype = declared;
    header->type.change = pair.change;
    return;
  }
}

bool IsNpy(const char* head, size_t size) {
  return size >= sizeof(kMagic) && std::memcmp(head, kMagic, sizeof(kMagic)) == 0;
}

void CopyNpyNumbers(const NpyType& type, const char* from, size_t numbers, char* to) {
  switch (type.change) {
    case NpyType::Change::kNone:
      return CopySame(type, from, numbers, to);
    case NpyType::Change::kCheckBool:
      if (!AreBools(from, numbers)) {
        Throw(ErrorCode::kDataLoss, "a bool is 0 or 1, not ",
              int{static_cast<unsigned char>(from[FirstOtherThanBool(from)])});
      }
      return CopySame(type, from, numbers, to);
    case NpyType::Change::kWidenUint16:
      return CopyOrSwap<uint16_t, int32_t>(type, from, numbers, to);
    case NpyType::Change::kWidenUint32:
      return CopyOrSwap<uint32_t, int64_t>(type, from, numbers, to);
    case NpyType::Change::kCheckUint64:
      // Checks the copy, because a mapped file may change meanwhile.
      CopySame(type, from, numbers, to);
      return CheckUint64s(to, numbers);
  }
}

}  // namespace millhopper
