// SPDX-License-Identifier: Apache-2.0
#include "readers/json_fields.h"

#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/spelling.h"
#include "framework/reader/prefetched.h"
#include "readers/field_rows.h"
#include "readers/guessed_type.h"
#include "readers/text_file.h"

namespace millhopper {
namespace {

namespace dom = simdjson::dom;
using Type = dom::element_type;

// Throws if there is no memory for a record of this size; a damaged one is an error of data.
dom::element Parse(std::string_view record) {
  // The parser keeps its memory, which holds the record that it parsed last.
  thread_local dom::parser parser;
  dom::element document;
  const simdjson::error_code error = parser.parse(record.data(), record.size()).get(document);
  if (error == simdjson::MEMALLOC) {
    Throw(ErrorCode::kResourceLimit, "there is no memory to parse a record of ", record.size(),
          " bytes");
  }
  if (error != simdjson::SUCCESS) {
    const size_t first = record.find_first_not_of(" \t");
    const bool begins_list = first != std::string_view::npos && record[first] == '[';
    Throw(ErrorCode::kDataLoss, "the record is no JSON: ", simdjson::error_message(error),
          begins_list
              ? "; each line is a value of its own, and `jq -c .[] FILE` makes such lines of "
                "a list"
              : "");
  }
  return document;
}

// False if there is none; it may be null.
bool FindAny(dom::element record, const Field& field, dom::element* value) {
  const std::string& name = field.name;
  const auto found = name[0] == '/' ? record.at_pointer(name) : record.at_key(name);
  return found.get(*value) == simdjson::SUCCESS;
}

// False if there is none, or it is null or a text that the field takes for that.
bool Find(dom::element record, const Field& field, dom::element* value) {
  if (!FindAny(record, field, value) || value->is_null()) return false;
  return value->type() != Type::STRING || !field.IsNull(value->get_string().value_unsafe());
}

const char* NameOf(Type type) {
  switch (type) {
    case Type::ARRAY:
      return "an array";
    case Type::OBJECT:
      return "an object";
    case Type::STRING:
      return "text";
    case Type::BOOL:
      return "true or false";
    case Type::NULL_VALUE:
      return "null";
    default:
      return "a number";
  }
}

[[noreturn]] void WrongType(const Field& field, dom::element value) {
  std::string text;
  const char* hint = "";
  if (value.type() == Type::STRING) {
    text = StrCat(" '", Shown(value.get_string().value_unsafe()), "'");
    hint =
        " (decode=text reads a number from text, decode=timestamp a date or time, hash= and "
        "vocab= number it)";
  }
  Throw(ErrorCode::kDataLoss, "it is ", NameOf(value.type()), text, ", ",
        field.bytes ? "bytes" : ToString(field.slot), " is declared", hint);
}

void WriteValue(const Field& field, dom::element value, char* place) {
  const Type type = value.type();
  if (field.from_text() != (type == Type::STRING)) WrongType(field, value);
  switch (type) {
    case Type::STRING:
      return field.ReadAll(value.get_string().value_unsafe(), place);
    case Type::INT64:
      return field.Write(value.get_int64().value_unsafe(), place);
    case Type::UINT64:  // more than an int64 holds
      return field.Write(value.get_uint64().value_unsafe(), place);
    case Type::DOUBLE:
      return field.Write(value.get_double().value_unsafe(), place);
    case Type::BOOL:
      return field.Write(int64_t{value.get_bool().value_unsafe()}, place);
    default:
      WrongType(field, value);
  }
}

std::string_view TextOf(const Field& field, dom::element value) {
  if (value.type() != Type::STRING) WrongType(field, value);
  return value.get_string().value_unsafe();
}

bool IsArray(dom::element value) { return value.type() == Type::ARRAY; }

// How many values an array has, nested ones counted through.
size_t CountValues(dom::array array) {
  size_t count = 0;
  for (const dom::element value : array) {
    count += IsArray(value) ? CountValues(value.get_array().value_unsafe()) : 1;
  }
  return count;
}

// Throws unless an array of this axis is nested as the dims say. The outermost one may be flat.
void CheckShape(const Field& field, dom::array array, size_t axis, bool outermost) {
  const Dims& dims = field.slot.dims;
  const bool nested = array.begin() != array.end() && IsArray(*array.begin());
  size_t length = 0;
  for (const dom::element value : array) {
    if (IsArray(value) != nested) Throw(ErrorCode::kDataLoss, "its arrays are not nested evenly");
    if (nested && axis + 1 >= dims.size()) {
      Throw(ErrorCode::kDataLoss, "its arrays are nested deeper than ", ToString(field.slot));
    }
    if (nested) CheckShape(field, value.get_array().value_unsafe(), axis + 1, false);
    ++length;
  }
  if ((nested || !outermost) && dims[axis] >= 0 && static_cast<int64_t>(length) != dims[axis]) {
    Throw(ErrorCode::kDataLoss, "an array of it has ", length, " values, ", dims[axis],
          " are declared");
  }
}

void WriteArray(const Field& field, dom::array array, char** place) {
  for (const dom::element value : array) {
    if (IsArray(value)) {
      WriteArray(field, value.get_array().value_unsafe(), place);
    } else {
      WriteValue(field, value, *place);
      *place += field.value_bytes();
    }
  }
}

// A key as a step of a JSON pointer (RFC 6901).
std::string PointerStep(std::string_view key) {
  std::string step;
  for (const char c : key) step += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return step;
}

// Throws that a record has no value for a field, saying which keys it has.
[[noreturn]] void NoValue(const Field& field, dom::element record) {
  constexpr size_t kMostKeys = 1000;
  dom::element value;
  if (FindAny(record, field, &value)) {
    if (value.type() == Type::STRING) field.ThrowNull(value.get_string().value_unsafe());
    field.ThrowMissing("it is null");
  }
  dom::object object;
  if (record.get_object().get(object) != simdjson::SUCCESS) {
    Throw(ErrorCode::kDataLoss, "the record has no value for it: it is ", NameOf(record.type()),
          ", not an object");
  }
  std::vector<std::string> keys, pointers;
  for (const auto& [key, outer] : object) {
    if (keys.size() + pointers.size() >= kMostKeys) break;
    keys.emplace_back(key);
    dom::object inner;
    if (outer.get_object().get(inner) != simdjson::SUCCESS) continue;
    for (const auto& within : inner) {
      if (pointers.size() >= kMostKeys) break;
      pointers.push_back(StrCat("/", PointerStep(key), "/", PointerStep(within.key)));
    }
  }
  // "user.id" and "user/id" are what other readers call /user/id.
  std::string pointer = field.name[0] == '/' ? field.name : "/" + field.name;
  std::replace(pointer.begin(), pointer.end(), '.', '/');
  const bool is_within = std::count(pointers.begin(), pointers.end(), pointer) > 0;
  field.ThrowMissing(StrCat("the record has no value for it; its keys are ", Listed(keys),
                            is_within ? DidYouMean(pointer) : DidYouMean(field.name, keys)));
}

void LoadField(const Field& field, size_t slot, dom::element record, FieldRows* rows) {
  dom::element value;
  if (!Find(record, field, &value)) {
    if (field.missing != Field::Missing::kDefault) NoValue(field, record);
    return rows->AppendDefault(slot);
  }
  if (field.bytes) {
    if (!IsArray(value) || !field.bytes_list) return rows->AppendBytes(slot, TextOf(field, value));
    thread_local std::vector<std::string_view> values;
    values.clear();
    const dom::array array = value.get_array().value_unsafe();
    for (const dom::element text : array) values.push_back(field.BytesOf(TextOf(field, text)));
    return rows->AppendBytes(slot, values);
  }
  if (!IsArray(value)) {
    if (field.sequence || field.values != 1) WrongType(field, value);
    char one[8];
    WriteValue(field, value, one);
    std::memcpy(rows->Take(slot, 1), one, field.value_bytes());
    return;
  }
  const dom::array array = value.get_array().value_unsafe();
  if (!field.sequence && field.slot.dims.size() == 1) WrongType(field, value);
  // The leading axis of one element is that of the batch, unless it counts the steps.
  CheckShape(field, array, field.sequence ? 0 : 1, true);
  char* place = rows->Take(slot, CountValues(array));
  WriteArray(field, array, &place);
}

// A number is never a null: it has no text that could be compared.
void RequireNullsAreTexts(const Field& field) {
  if (field.bytes || field.from_text()) return;
  for (const std::string& null : field.nulls) {
    char place[8];
    const char* const end = null.data() + null.size();
    Require(field.Read(null.data(), end, place) != end, "field '", Escaped(field.name),
            "': null=", Escaped(null), " is a number; null= names texts, such as null=NA");
  }
}

}  // namespace

JsonParser::JsonParser(std::vector<Field> fields)
    : fields_(std::move(fields)), own_slots_(fields_.size()) {
  std::iota(own_slots_.begin(), own_slots_.end(), size_t{0});
  for (const Field& field : fields_) {
    Require(!field.name.empty(), "a field without a name");
    Require(field.decode != Field::Decode::kJson, "field '", Escaped(field.name),
            "': decode=json is not for what is JSON already");
    Require(field.separator == 0, "field '", Escaped(field.name),
            "': separator= is for cells of tables; several values are an array in JSON");
    RequireNullsAreTexts(field);
  }
}

void JsonParser::Load(const Ticket* tickets, size_t n, Rows* rows) const {
  FieldRows field_rows(fields_, n, rows);
  for (const Ticket& ticket : Prefetched(tickets, n)) {
    LoadPart({ticket.bytes, ticket.size}, own_slots_.data(), &field_rows);
  }
}

void JsonParser::LoadPart(std::string_view record, const size_t* slots, FieldRows* rows) const {
  const dom::element document = Parse(record);
  for (size_t i = 0; i < fields_.size(); ++i) {
    try {
      LoadField(fields_[i], slots[i], document, rows);
    } catch (const Error& error) {
      if (error.interrupts()) throw;
      throw error.WithMessage(StrCat("field '", Escaped(fields_[i].name), "': ", error.message()));
    }
  }
}

bool JsonParser::IsLeftOut(std::string_view record) const {
  try {
    const dom::element document = Parse(record);
    return std::any_of(fields_.begin(), fields_.end(), [&](const Field& field) {
      dom::element value;
      if (field.missing != Field::Missing::kSkip) return false;
      if (!Find(document, field, &value)) return true;
      return field.vocabulary != nullptr && value.type() == Type::STRING &&
             field.IsMissing(value.get_string().value_unsafe());
    });
  } catch (const Error& error) {
    if (error.interrupts()) throw;
    return false;
  }
}

std::vector<std::string> GuessJsonFields(const std::vector<std::string>& records) {
  struct Seen {
    bool bytes = false, floats = false, sequence = false, other = false, missing = false;
    size_t values = 0, times = 0;
    std::vector<std::string> texts;
  };
  std::map<std::string, Seen> keys;
  const auto look = [](dom::element value, Seen* seen, const auto& look_again) -> void {
    switch (value.type()) {
      case Type::ARRAY: {
        const dom::array array = value.get_array().value_unsafe();
        const size_t count = CountValues(array);
        if (seen->times > 0 && count != seen->values) seen->sequence = true;
        seen->values = count;
        for (const dom::element inner : array) {
          if (IsArray(inner)) seen->other = true;
          if (!IsArray(inner)) look_again(inner, seen, look_again);
        }
        break;
      }
      case Type::STRING:
        seen->bytes = true;
        seen->texts.emplace_back(value.get_string().value_unsafe());
        break;
      case Type::UINT64:
      case Type::DOUBLE:
        seen->floats = true;
        break;
      case Type::OBJECT:  // which is no value itself
        seen->other = true;
        break;
      case Type::NULL_VALUE:
        seen->missing = true;
        break;
      default:
        break;
    }
  };
  // `pointer` is that of the object, "" of the outermost one.
  const auto look_into = [&](dom::object object, const std::string& pointer,
                             const auto& look_again) -> void {
    for (const auto& [key, value] : object) {
      const bool plain = pointer.empty() && (key.empty() || key[0] != '/');
      const std::string inner = StrCat(pointer, "/", PointerStep(key));
      Seen* const seen = &keys[plain ? std::string(key) : inner];
      look(value, seen, look);
      dom::object within;
      if (value.get_object().get(within) == simdjson::SUCCESS) {
        look_again(within, inner, look_again);
      }
      ++seen->times;
    }
  };
  for (const std::string& record : records) {
    dom::object object;
    if (Parse(record).get_object().get(object) != simdjson::SUCCESS) continue;
    look_into(object, "", look_into);
  }
  std::vector<std::string> fields;
  for (const auto& [key, seen] : keys) {
    if (seen.other || key.empty() || key.find('"') != std::string::npos) continue;
    // An object that has other keys in each record is a table, and its keys are no fields.
    if (key[0] == '/' && seen.times < records.size()) continue;
    const bool quoted = key.find_first_of(" \t") != std::string::npos;
    const std::string dims = seen.sequence      ? "[-1]"
                             : seen.values == 0 ? "[]"
                                                : StrCat("[", seen.values, "]");
    const bool missing = seen.missing || seen.times < records.size();
    std::string type = !seen.bytes    ? (seen.floats ? "float32" : "int64") + dims
                       : dims != "[]" ? "bytes[-1]"
                                      : GuessedTimestampType(seen.texts);
    if (type.empty()) type = "bytes";
    fields.push_back(StrCat(quoted ? "\"" + key + "\"" : key, " ", type,
                            !missing           ? ""
                            : IsTextType(type) ? " missing=default"
                                               : " default=0"));
  }
  return fields;
}

}  // namespace millhopper
