// SPDX-License-Identifier: Apache-2.0
#include "readers/formats/mds/mds_sample.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/spelling.h"
#include "framework/reader/prefetched.h"
#include "framework/tensor/tensor.h"
#include "readers/fields/guessed_type.h"
#include "readers/support/stored_number.h"

namespace millhopper {
namespace {

using Kind = MdsEncoding::Kind;

// A type of values, by the number that arrays have for it.
struct ValueType {
  MdsEncoding::Type code;
  const char* name;
  size_t bytes;
  std::optional<DataType> same;  // ours, if we have it
  const char* field;             // the type of a field that holds all its values
};

constexpr ValueType kTypes[] = {
    {8, "uint8", 1, DataType::kUint8, "uint8"},     {9, "int8", 1, DataType::kInt8, "int8"},
    {16, "uint16", 2, DataType::kUint16, "uint16"}, {17, "int16", 2, DataType::kInt16, "int16"},
    {18, "float16", 2, DataType::kFp16, "float16"}, {32, "uint32", 4, DataType::kUint32, "uint32"},
    {33, "int32", 4, DataType::kInt32, "int32"},    {34, "float32", 4, DataType::kFp32, "float32"},
    {64, "uint64", 8, DataType::kUint64, "uint64"}, {65, "int64", 8, DataType::kInt64, "int64"},
    {66, "float64", 8, DataType::kFp64, "float64"},
};

const ValueType* TypeNamed(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                         [&](const ValueType& type) { return type.name == name; });
  return found == std::end(kTypes) ? nullptr : found;
}

const ValueType* TypeOf(MdsEncoding::Type code) {
  const auto* const found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                         [&](const ValueType& type) { return type.code == code; });
  return found == std::end(kTypes) ? nullptr : found;
}

void WriteOne(const Field& field, const ValueType& type, const char* value, char* place) {
  switch (type.code) {
    case 8:
      return field.Write(int64_t{StoredNumber<uint8_t>(value)}, place);
    case 9:
      return field.Write(int64_t{StoredNumber<int8_t>(value)}, place);
    case 16:
      return field.Write(int64_t{StoredNumber<uint16_t>(value)}, place);
    case 17:
      return field.Write(int64_t{StoredNumber<int16_t>(value)}, place);
    case 18:
      return field.Write(double{Fp16ToFloat(StoredNumber<uint16_t>(value))}, place);
    case 32:
      return field.Write(int64_t{StoredNumber<uint32_t>(value)}, place);
    case 33:
      return field.Write(int64_t{StoredNumber<int32_t>(value)}, place);
    case 34:
      return field.Write(double{StoredNumber<float>(value)}, place);
    case 65:
      return field.Write(StoredNumber<int64_t>(value), place);
    case 66:
      return field.Write(StoredNumber<double>(value), place);
    default:
      return field.Write(StoredNumber<uint64_t>(value), place);
  }
}

void WriteValues(const Field& field, const ValueType& type, const char* values, size_t count,
                 char* place) {
  if (type.same == field.slot.dtype && field.scale == 1) {
    if (count > 0) std::memcpy(place, values, count * type.bytes);
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    WriteOne(field, type, values + i * type.bytes, place + i * field.value_bytes());
  }
}

// The next `size` bytes of what is left.
std::string_view TakeBytes(uint64_t size, const char* what, std::string_view* left) {
  if (size > left->size()) {
    Throw(ErrorCode::kDataLoss, what, " takes ", size, " bytes, but ", left->size(), " are left");
  }
  const std::string_view taken = left->substr(0, size);
  left->remove_prefix(size);
  return taken;
}

// An array as its column has it.
struct Array {
  // Throws kDataLoss if it is damaged.
  Array(const MdsEncoding& encoding, std::string_view left) {
    const MdsEncoding::Type code =
        encoding.type ? *encoding.type
                      : StoredNumber<MdsEncoding::Type>(TakeBytes(1, "its type", &left).data());
    type = TypeOf(code);
    if (type == nullptr) {
      Throw(ErrorCode::kDataLoss, "it has values of the type ", int{code}, ", which nobody knows");
    }
    shape = encoding.shape ? *encoding.shape : ReadShape(&left);
    const uint64_t most = left.size() / type->bytes;
    for (const uint64_t dim : shape) {
      if (dim != 0 && count > most / dim) {
        Throw(ErrorCode::kDataLoss, "an array ", Text(), " of ", type->name,
              " has more bytes than the ", left.size(), " that are left");
      }
      count *= dim;
    }
    values = left.data();
    if (count * type->bytes != left.size()) {
      Throw(ErrorCode::kDataLoss, "an array ", Text(), " of ", type->name, " has ",
            count * type->bytes, " bytes, but ", left.size(), " are left");
    }
  }

  static std::vector<uint64_t> ReadShape(std::string_view* left) {
    const auto head = StoredNumber<uint8_t>(TakeBytes(1, "its number of axes", left).data());
    const size_t bytes = size_t{1} << (head & 3);
    const std::string_view dims = TakeBytes((head >> 2) * bytes, "its shape", left);
    std::vector<uint64_t> shape(head >> 2);
    for (size_t i = 0; i < shape.size(); ++i) {
      std::memcpy(&shape[i], dims.data() + i * bytes, bytes);
    }
    return shape;
  }

  std::string Text() const {
    std::string text;
    for (const uint64_t dim : shape) text += StrCat(text.empty() ? "[" : ", ", dim);
    return text.empty() ? "[]" : text + "]";
  }

  // Whether the field declares this shape.
  bool Fits(const Field& field) const {
    const Dims& dims = field.slot.dims;
    // The leading axis of one element is that of the batch, unless it counts the steps.
    const size_t first = field.sequence ? 0 : 1;
    if (shape.size() != dims.size() - first) return false;
    for (size_t i = 0; i < shape.size(); ++i) {
      const int64_t dim = dims[first + i];
      if (dim >= 0 && static_cast<uint64_t>(dim) != shape[i]) return false;
    }
    return true;
  }

  const ValueType* type;
  std::vector<uint64_t> shape;
  uint64_t count = 1;
  const char* values;
};

std::vector<std::string_view> ImagesOf(const MdsEncoding& encoding, std::string_view value) {
  TakeBytes(encoding.before_count, "its beginning", &value);
  const auto count =
      StoredNumber<uint32_t>(TakeBytes(4, "the number of its images", &value).data());
  const std::string_view sizes = TakeBytes(uint64_t{4} * count, "the sizes of its images", &value);
  std::vector<std::string_view> images;
  for (size_t i = 0; i < count; ++i) {
    images.push_back(TakeBytes(StoredNumber<uint32_t>(sizes.data() + 4 * i), "an image", &value));
  }
  if (!value.empty()) {
    Throw(ErrorCode::kDataLoss, value.size(), " bytes are left after its images");
  }
  return images;
}

MdsEncoding ArrayEncoding(std::string_view type, std::string_view shape, bool* known) {
  MdsEncoding encoding;
  encoding.kind = Kind::kArray;
  if (!type.empty()) {
    const ValueType* const named = TypeNamed(type);
    *known = named != nullptr;
    if (named != nullptr) encoding.type = named->code;
  }
  if (shape.empty()) return encoding;
  std::vector<uint64_t> dims;
  for (const char* here = shape.data(); *known;) {
    const char* const end = shape.data() + shape.size();
    uint64_t dim = 0;
    const auto read = std::from_chars(here, end, dim);
    *known = read.ec == std::errc() && (read.ptr == end || *read.ptr == ',');
    dims.push_back(dim);
    if (read.ptr == end) break;
    here = read.ptr + 1;
  }
  encoding.shape = std::move(dims);
  return encoding;
}

bool TakesText(const Field& field, Kind kind) {
  if (kind == Kind::kNumber) return true;
  return kind == Kind::kText && field.from_text();
}

// A type with the dims of a field.
std::string TypeWithDimsOf(const Field& field, const char* type) {
  std::string dims;
  for (size_t i = field.sequence ? 0 : 1; i < field.slot.dims.size(); ++i) {
    dims += StrCat(dims.empty() ? "" : ", ", field.slot.dims[i]);
  }
  return StrCat(type, "[", dims, "]");
}

// Throws unless values of the encoding can become those of the field.
void CheckFits(const Field& field, const MdsColumn& column, Kind kind) {
  const auto refuse = [&](const std::string& problem) {
    Throw(ErrorCode::kDataLoss, "field '", Escaped(field.name), "': its column is '",
          Escaped(column.encoding), "', ", problem);
  };
  switch (kind) {
    case Kind::kPickle:
      return refuse("a pickle, which is a program to be run; pickles are never read");
    case Kind::kBytes:
    case Kind::kImages:
      if (!field.bytes) refuse(kind == Kind::kBytes ? "so it is bytes" : "so it is bytes[-1]");
      return;
    case Kind::kText:
    case Kind::kNumber:
      if (!field.bytes && !TakesText(field, kind)) {
        refuse("so it is bytes, or a number with decode=text, decode=timestamp, hash= or vocab=");
      }
      return;
    default:
      if (field.bytes || field.names_things() || field.decode != Field::Decode::kNone) {
        refuse("which are numbers: bytes, hash=, vocab= and decode= are not for it");
      }
  }
}

}  // namespace

MdsEncoding MdsEncoding::Of(const MdsColumn& column) {
  const std::string& name = column.encoding;
  MdsEncoding encoding;
  bool known = true;
  if (name == "pkl") {
    encoding.kind = Kind::kPickle;
  } else if (name == "bytes" || name == "jpeg" || name == "png" || name == "pil") {
    encoding.kind = Kind::kBytes;
  } else if (name == "str" || name == "json") {
    encoding.kind = Kind::kText;
  } else if (name == "str_int" || name == "str_float" || name == "str_decimal") {
    encoding.kind = Kind::kNumber;
  } else if (name == "jpeg_array" || name == "jpegarray") {
    encoding.kind = Kind::kImages;
  } else if (name == "list[jpeg]" || name == "list[png]" || name == "list[pil]") {
    encoding.kind = Kind::kImages;
    encoding.before_count = 4;
  } else if (name.substr(0, name.find(':')) == "ndarray") {
    const std::string rest = name.size() > 8 ? name.substr(8) : "";
    const size_t colon = rest.find(':');
    encoding = ArrayEncoding(rest.substr(0, colon),
                             colon == std::string::npos ? "" : rest.substr(colon + 1), &known);
  } else {
    const ValueType* const type = TypeNamed(name == "int" ? "int64" : name);
    known = type != nullptr;
    encoding.kind = Kind::kScalar;
    if (known) encoding.type = type->code;
    if (known && column.size != type->bytes) {
      Throw(ErrorCode::kDataLoss, "column '", Escaped(column.name), "' is ", name, " of ",
            column.size, " bytes; it has ", type->bytes);
    }
  }
  if (!known) {
    Throw(ErrorCode::kDataLoss, "column '", Escaped(column.name), "' has the encoding '",
          Escaped(name), "', which nobody knows");
  }
  return encoding;
}

void CutMdsSample(std::string_view sample, const std::vector<MdsColumn>& columns,
                  std::vector<std::string_view>* values) {
  values->clear();
  std::string_view left = sample;
  size_t variable = 0;
  for (const MdsColumn& column : columns) variable += column.size == 0 ? 1 : 0;
  const std::string_view sizes = TakeBytes(variable * 4, "the table of its sizes", &left);
  const char* size = sizes.data();
  for (const MdsColumn& column : columns) {
    uint32_t bytes = column.size;
    if (bytes == 0) {
      bytes = StoredNumber<uint32_t>(size);
      size += 4;
    }
    if (bytes > left.size()) {
      Throw(ErrorCode::kDataLoss, "column '", Escaped(column.name), "' has ", bytes, " bytes, but ",
            left.size(), " of the sample's ", sample.size(), " are left");
    }
    values->push_back(left.substr(0, bytes));
    left.remove_prefix(bytes);
  }
  if (!left.empty()) {
    Throw(ErrorCode::kDataLoss, left.size(), " of the sample's ", sample.size(),
          " bytes are left after its columns");
  }
}

MdsParser::MdsParser(const std::vector<Field>& fields, std::vector<MdsColumn> columns)
    : fields_(fields), columns_(std::move(columns)) {
  for (const Field& field : fields_) {
    const auto found = std::find_if(columns_.begin(), columns_.end(), [&](const MdsColumn& column) {
      return column.name == field.name;
    });
    if (found == columns_.end() && field.missing != Field::Missing::kError) {
      sources_.emplace_back();
      continue;
    }
    if (found == columns_.end()) {
      std::vector<std::string> names;
      for (const MdsColumn& column : columns_) names.push_back(column.name);
      Throw(ErrorCode::kDataLoss, "no column is named '", Escaped(field.name), "'; there are ",
            Listed(names), DidYouMean(field.name, names));
    }
    const MdsEncoding encoding = MdsEncoding::Of(*found);
    CheckFits(field, *found, encoding.kind);
    sources_.push_back({static_cast<size_t>(found - columns_.begin()), encoding});
  }
}

void MdsParser::LoadSlot(std::string_view value, size_t slot, FieldRows* rows) const {
  const Field& field = fields_[slot];
  const MdsEncoding& encoding = sources_[slot].encoding;
  if (encoding.kind == Kind::kImages) {
    return rows->AppendBytes(slot, ImagesOf(encoding, value));
  }
  if (field.bytes) return rows->AppendBytes(slot, value);
  if (TakesText(field, encoding.kind)) return field.ReadAll(value, rows->Take(slot, 1));
  if (encoding.kind == Kind::kScalar) {  // the size of the column is that of the type
    return WriteValues(field, *TypeOf(*encoding.type), value.data(), 1, rows->Take(slot, 1));
  }
  const Array array(encoding, value);
  if (!array.Fits(field)) {
    Throw(ErrorCode::kDataLoss, "it has the shape ", array.Text(), ", ", ToString(field.slot),
          " is declared");
  }
  try {
    WriteValues(field, *array.type, array.values, array.count, rows->Take(slot, array.count));
  } catch (const Error& error) {
    if (error.interrupts() || array.type->same == field.slot.dtype) throw;
    throw error.WithMessage(StrCat(error.message(), "; this array is ", array.type->name, ", and ",
                                   TypeWithDimsOf(field, array.type->field), " reads it"));
  }
}

void MdsParser::Load(const Ticket* tickets, size_t n, Rows* rows) const {
  thread_local std::vector<std::string_view> values;
  FieldRows field_rows(fields_, n, rows);
  for (const Ticket& ticket : Prefetched(tickets, n)) {
    CutMdsSample({ticket.bytes, ticket.size}, columns_, &values);
    for (size_t slot = 0; slot < fields_.size(); ++slot) {
      const std::optional<size_t> column = sources_[slot].column;
      if (!column) {
        field_rows.AppendDefault(slot);
        continue;
      }
      ForField(fields_[slot], [&] { LoadSlot(values[*column], slot, &field_rows); });
    }
  }
}

namespace {

// Adds the arrays of a sample to those of their columns, all or none of them.
void AddArrays(std::string_view sample, const std::vector<MdsColumn>& columns,
               std::vector<std::vector<Array>>* arrays) {
  std::vector<std::string_view> values;
  CutMdsSample(sample, columns, &values);
  std::vector<std::pair<size_t, Array>> found;
  for (size_t i = 0; i < columns.size(); ++i) {
    const MdsEncoding encoding = MdsEncoding::Of(columns[i]);
    if (encoding.kind == Kind::kArray) found.emplace_back(i, Array(encoding, values[i]));
  }
  for (auto& [column, array] : found) (*arrays)[column].push_back(std::move(array));
}

// "" if there is none.
std::string TypeThatFits(const std::vector<Array>& arrays) {
  if (arrays.empty()) return "";
  const Array& first = arrays[0];
  bool sequence = false;
  for (const Array& other : arrays) {
    if (other.type != first.type || other.shape.size() != first.shape.size()) return "";
    for (size_t axis = 0; axis < first.shape.size(); ++axis) {
      if (other.shape[axis] == first.shape[axis]) continue;
      if (axis > 0) return "";
      sequence = true;
    }
  }
  if (!sequence) return first.type->field + first.Text();
  std::string inner;
  for (size_t axis = 1; axis < first.shape.size(); ++axis) inner += StrCat(", ", first.shape[axis]);
  return StrCat(first.type->field, "[-1", inner, "]");
}

}  // namespace

FittingFields GuessMdsFields(const std::vector<MdsColumn>& columns,
                             const std::vector<std::string_view>& samples) {
  std::vector<std::vector<Array>> arrays(columns.size());
  for (const std::string_view sample : samples) {
    try {
      AddArrays(sample, columns, &arrays);
    } catch (const Error& error) {
      if (sample.data() == samples[0].data() || error.interrupts()) throw;
      break;
    }
  }
  FittingFields fields;
  fields.holds_masks = true;
  for (size_t i = 0; i < columns.size(); ++i) {
    const MdsEncoding encoding = MdsEncoding::Of(columns[i]);
    const std::string& name = columns[i].name;
    const auto leave_out = [&](const char* why) {
      fields.left_out.push_back(StrCat("'", Escaped(name), "': ", why));
    };
    if (!CanBeNamed(name)) {
      leave_out("it cannot be the name of a field");
      continue;
    }
    std::string type;
    switch (encoding.kind) {
      case Kind::kPickle:
        leave_out("it is a pickle, which is a program to be run; pickles are never read");
        continue;
      case Kind::kImages:
        type = "bytes[-1]";
        break;
      case Kind::kNumber:  // a decimal may have more digits than a float64
        type = columns[i].encoding == "str_int"     ? "int64[]"
               : columns[i].encoding == "str_float" ? "float64[]"
                                                    : kTextType;
        break;
      case Kind::kScalar:
        type = StrCat(TypeOf(*encoding.type)->field, "[]");
        break;
      case Kind::kArray: {
        type = TypeThatFits(arrays[i]);
        // Later arrays may have other types.
        if (!encoding.type) fields.attributes.Set(kNumbers, std::string(kExactNumbers));
        if (type.empty()) {
          leave_out(arrays[i].empty() ? "no sample tells the type of its arrays"
                                      : "its arrays differ in type, or in more than their first "
                                        "axis");
          continue;
        }
        break;
      }
      default:
        type = encoding.kind == Kind::kText ? kTextType : "bytes";
    }
    fields.entries.push_back(EntryFor(name, type));
  }
  return fields;
}

}  // namespace millhopper
