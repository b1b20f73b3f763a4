// SPDX-License-Identifier: Apache-2.0
#include "readers/fields/json_fields.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/spelling.h"
#include "framework/reader/prefetched.h"
#include "readers/fields/field_rows.h"
#include "readers/fields/guessed_type.h"
#include "readers/fields/number_text.h"
#include "readers/support/text_file.h"

namespace millhopper {
namespace {

constexpr size_t kMostSteps = 1000;  // of a pointer

// Calls function(), and has its errors say that the record is no JSON.
template <typename Function>
void InRecord(const JsonText& text, const Function& function) {
  try {
    function();
  } catch (const Error& error) {
    if (error.interrupts()) throw;
    throw error.WithMessage(
        StrCat("the record is no JSON: ", error.message(),
               text.IsArray(text.root()) || text.IsObject(text.root())
                   ? "; json: before the name of a file reads a list, or values of several lines"
                   : ""));
  }
}

// What a value is; throws if it is none.
const char* NameOf(const JsonText& text, const char* value) {
  JsonNumber number;
  switch (text.KindOf(value)) {
    case JsonKind::kArray:
      return "an array";
    case JsonKind::kObject:
      return "an object";
    case JsonKind::kText:
      return "text";
    case JsonKind::kBool:
      text.BoolAt(value);
      return "true or false";
    case JsonKind::kNull:
      text.IsNull(value);
      return "null";
    default:
      text.ReadNumber(value, &number);
      return "a number";
  }
}

// Texts of a record, of one field after another. One thread has one at a time.
class Texts {
 public:
  explicit Texts(size_t record_bytes) : room_(RoomOfThread()) {
    room_.reserve(record_bytes);  // so that nothing moves, if each text is asked for once
  }

  // For the next field.
  void Clear() const { room_.clear(); }

  std::string_view Decode(std::string_view written) const {
    std::string_view text;
    const char* const problem = DecodeJson(written, &room_, &text);
    if (problem != nullptr) Throw(ErrorCode::kDataLoss, problem);
    return text;
  }

 private:
  static std::string& RoomOfThread() {
    thread_local std::string room;
    return room;
  }

  std::string& room_;
};

bool HasEscape(std::string_view written) { return written.find('\\') != std::string_view::npos; }

// A key as people read it; as it is written if it stands for nothing.
std::string KeyOf(std::string_view written) {
  if (!HasEscape(written)) return std::string(written);
  std::string room;
  room.reserve(written.size());
  std::string_view key;
  return std::string(DecodeJson(written, &room, &key) == nullptr ? key : written);
}

// Whether a field has no value: none, null, or a text that it takes for that.
bool IsMissing(const JsonText& text, const Texts& texts, const Field& field, const char* value) {
  if (value == nullptr) return true;
  // null is a value of JSON, unless the field says what it means.
  if (text.IsNull(value)) {
    return field.decode != Field::Decode::kJson || field.missing != Field::Missing::kError;
  }
  if (field.decode == Field::Decode::kJson) return false;
  return !field.nulls.empty() && text.KindOf(value) == JsonKind::kText &&
         field.IsNull(texts.Decode(text.TextAt(value)));
}

// Makes the values of fields of those of a record.
class ValueLoader {
 public:
  ValueLoader(const JsonText& text, const Texts& texts, FieldRows* rows)
      : text_(text), texts_(texts), rows_(rows), values_(ValuesOfThread()) {}

  void Load(const Field& field, size_t slot, const char* value) {
    here_ = value;
    const bool is_array = text_.IsArray(value);
    if (field.bytes) return LoadBytes(field, slot, value, is_array);
    const bool takes_array = field.sequence || field.slot.dims.size() > 1;
    const bool takes_one = field.sequence ? field.slot.dims.size() == 1 : field.values == 1;
    if (is_array ? !takes_array : !takes_one || (field.exact && takes_array)) {
      WrongType(field, value);
    }
    used_ = 0;
    if (is_array) {
      // The leading axis of one element is that of the batch, unless it counts the steps.
      ReadArray(field, value, field.sequence ? 0 : 1, true);
    } else {
      ReadItem(field, value);
    }
    here_ = value;
    std::memcpy(rows_->Take(slot, used_ / field.value_bytes()), values_.data(), used_);
  }

  // The value that was looked at last.
  const char* here() const { return here_; }

 private:
  // A thread loads one record after another, so that it needs no new memory for each.
  static std::vector<char>& ValuesOfThread() {
    thread_local std::vector<char> values;
    return values;
  }

  [[noreturn]] void WrongType(const Field& field, const char* value) const {
    const char* const name = NameOf(text_, value);
    std::string shown;
    const char* hint = "";
    if (text_.KindOf(value) == JsonKind::kText) {
      shown = StrCat(" '", Shown(texts_.Decode(text_.TextAt(value))), "'");
      hint =
          " (decode=text reads a number from text, decode=timestamp a date or time, hash= and "
          "vocab= number it)";
    }
    Throw(ErrorCode::kDataLoss, "it is ", name, shown, ", ", field.Declared(), " is declared",
          hint);
  }

  std::string_view TextOf(const Field& field, const char* value) {
    here_ = value;
    if (text_.KindOf(value) != JsonKind::kText) WrongType(field, value);
    return texts_.Decode(text_.TextAt(value));
  }

  void LoadBytes(const Field& field, size_t slot, const char* value, bool is_array) {
    if (field.decode == Field::Decode::kJson) {
      const char* const end = text_.Check(value);
      return rows_->AppendBytes(slot, std::string_view(value, static_cast<size_t>(end - value)));
    }
    if (!is_array && field.bytes_list && field.exact) WrongType(field, value);
    if (!is_array || !field.bytes_list) return rows_->AppendBytes(slot, TextOf(field, value));
    thread_local std::vector<std::string_view> list;
    list.clear();
    text_.ForEachItem(value, [&](const char* item) {
      list.push_back(field.BytesOf(TextOf(field, item)));
      return text_.Skip(item);
    });
    rows_->AppendBytes(slot, list);
  }

  // Reads the values of an array, which is this axis of the field, after those that there are.
  // Throws unless it is nested as the dims say; the outermost one may be flat.
  const char* ReadArray(const Field& field, const char* array, size_t axis, bool outermost) {
    const Dims& dims = field.slot.dims;
    size_t length = 0;
    bool nested = false;
    const char* const end = text_.ForEachItem(array, [&](const char* item) {
      const bool is_array = text_.IsArray(item);
      if (length++ == 0) nested = is_array;
      if (!is_array && !nested) return ReadItem(field, item);
      here_ = item;
      if (is_array != nested) Throw(ErrorCode::kDataLoss, "its arrays are not nested evenly");
      if (axis + 1 >= dims.size()) {
        Throw(ErrorCode::kDataLoss, "its arrays are nested deeper than ", ToString(field.slot));
      }
      return ReadArray(field, item, axis + 1, false);
    });
    if ((nested || !outermost) && dims[axis] >= 0 && static_cast<int64_t>(length) != dims[axis]) {
      here_ = array;
      Throw(ErrorCode::kDataLoss, "an array of it has ", length, " values, ", dims[axis],
            " are declared");
    }
    return end;
  }

  const char* ReadItem(const Field& field, const char* item) {
    here_ = item;
    const size_t bytes = field.value_bytes();
    if (values_.size() < used_ + bytes) values_.resize(2 * used_ + bytes);
    const char* const end = ReadValue(field, item, values_.data() + used_);
    used_ += bytes;
    return end;
  }

  const char* ReadValue(const Field& field, const char* value, char* place) const {
    const JsonKind kind = text_.KindOf(value);
    if (field.exact && !field.from_text() && kind != JsonKind::kText && kind != JsonKind::kNull &&
        (kind == JsonKind::kBool) != (field.slot.dtype == DataType::kBool)) {
      WrongType(field, value);
    }
    if (kind == JsonKind::kNumber && !field.from_text()) return ReadNumber(field, value, place);
    if (kind == JsonKind::kText && field.from_text()) {
      field.ReadAll(texts_.Decode(text_.TextAt(value)), place);
    } else if (kind == JsonKind::kBool && !field.from_text()) {
      field.Write(int64_t{text_.BoolAt(value)}, place);
    } else if (kind == JsonKind::kNull && IsFloat(field.slot.dtype) &&
               field.missing == Field::Missing::kDefault && text_.IsNull(value)) {
      WriteNull(field, place);
    } else {
      WrongType(field, value);
    }
    return text_.Skip(value);
  }

  static void WriteNull(const Field& field, char* place) {
    if (field.has_default) return field.WriteDefault(1, place);
    field.Write(std::numeric_limits<double>::quiet_NaN(), place);
  }

  const char* ReadNumber(const Field& field, const char* value, char* place) const {
    JsonNumber number;
    const char* const end = text_.ReadNumber(value, &number);
    if (number.too_large) {
      Throw(ErrorCode::kDataLoss, "'", Shown(text_.ScalarAt(value)),
            "' is more than a float64 holds");
    }
    switch (number.kind) {
      case JsonNumber::Kind::kInteger:
        field.Write(number.integer, place);
        break;
      case JsonNumber::Kind::kUnsigned:
        field.Write(number.unsigned_integer, place);
        break;
      case JsonNumber::Kind::kLarge:
        if (!IsFloat(field.slot.dtype)) {
          Throw(ErrorCode::kDataLoss, "'", Shown(text_.ScalarAt(value)), "' is no ",
                ToString(field.slot.dtype));
        }
        [[fallthrough]];
      case JsonNumber::Kind::kReal:
        if (KeepsReal(field, value, number.real)) {
          field.Write(number.real, place);
        } else {
          field.ReadAll(text_.ScalarAt(value), place);
        }
    }
    return end;
  }

  // Whether a number is what an exact float keeps of its digits. False if it is not a float64 that
  // tells.
  bool KeepsReal(const Field& field, const char* value, double number) const {
    return !field.exact || !IsFloat(field.slot.dtype) ||
           (field.slot.dtype == DataType::kFp64 && KeepsDigits(text_.ScalarAt(value), number));
  }

  const JsonText& text_;
  const Texts& texts_;
  FieldRows* const rows_;
  std::vector<char>& values_;  // of the field that is being read
  size_t used_ = 0;            // bytes of them
  const char* here_ = nullptr;
};

// A key as a step of a JSON pointer (RFC 6901).
std::string PointerStep(std::string_view key) {
  std::string step;
  for (const char c : key) step += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return step;
}

// The keys on the way that a name tells; none of the record itself.
std::vector<std::string> KeysOf(const std::string& name) {
  if (name.empty()) return {};
  if (name[0] != '/') return {name};
  std::vector<std::string> keys;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '/') {
      keys.emplace_back();
    } else if (name[i] != '~') {
      keys.back() += name[i];
    } else {
      const char escaped = ++i < name.size() ? name[i] : '\0';
      Require(escaped == '0' || escaped == '1', "field '", Escaped(name),
              "': a ~ in a JSON pointer is written ~0, and a / in a key ~1");
      keys.back() += escaped == '0' ? '~' : '/';
    }
  }
  Require(keys.size() <= kMostSteps, "a JSON pointer of ", keys.size(), " steps; the limit is ",
          kMostSteps);
  return keys;
}

// Nothing if it is no number of an item.
std::optional<size_t> ItemNumber(const std::string& key) {
  size_t number = 0;
  const char* const end = key.data() + key.size();
  const auto read = std::from_chars(key.data(), end, number);
  const bool is_number =
      read.ec == std::errc() && read.ptr == end && (key[0] != '0' || end - key.data() == 1);
  return is_number ? std::optional<size_t>(number) : std::nullopt;
}

// Throws that a record has no value for a field, saying which keys it has.
[[noreturn]] void NoValue(const JsonText& text, const Texts& texts, const Field& field,
                          const char* value, const char* infer) {
  constexpr size_t kMostKeys = 1000;
  if (value != nullptr) {
    if (text.KindOf(value) != JsonKind::kText) field.ThrowMissing("it is null", infer);
    field.ThrowNull(texts.Decode(text.TextAt(value)), infer);
  }
  if (text.IsNull(text.root())) field.ThrowMissing("the record is null", infer);
  if (!text.IsObject(text.root())) {
    Throw(ErrorCode::kDataLoss, "the record has no value for it: it is ", NameOf(text, text.root()),
          ", not an object");
  }
  std::vector<std::string> keys, pointers;
  text.ForEachMember(text.root(), [&](std::string_view key, const char* outer) {
    if (keys.size() >= kMostKeys) return text.Skip(outer);
    keys.push_back(KeyOf(key));
    if (!text.IsObject(outer)) return text.Skip(outer);
    try {
      return text.ForEachMember(outer, [&](std::string_view within, const char* inner) {
        if (pointers.size() < kMostKeys) {
          pointers.push_back(
              StrCat("/", PointerStep(keys.back()), "/", PointerStep(KeyOf(within))));
        }
        return text.Skip(inner);
      });
    } catch (const Error&) {
      return text.Skip(outer);  // what no field names may be anything
    }
  });
  // "user.id" and "user/id" are what other readers call /user/id.
  std::string pointer = field.name[0] == '/' ? field.name : "/" + field.name;
  std::replace(pointer.begin(), pointer.end(), '.', '/');
  const bool is_within = std::count(pointers.begin(), pointers.end(), pointer) > 0;
  field.ThrowMissing(StrCat("the record has no value for it; its keys are ", Listed(keys),
                            is_within ? DidYouMean(pointer) : DidYouMean(field.name, keys)));
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

// The type of any value of JSON, as its text.
constexpr char kAnyType[] = "str decode=json";

// The entry of a field that is the record itself, which may be no object.
std::string EntryForRecord(const std::string& type) { return StrCat("json = \"\" ", type); }

// What the values of a key are.
struct SeenValues {
  bool texts = false, numbers = false, bools = false;  // as values, or within arrays
  bool objects = false, arrays = false, scalars = false;
  bool members = false;                                                     // in objects
  bool arrays_within = false, objects_within = false, null_within = false;  // in arrays
  bool null = false;
  bool sequence = false;                                  // arrays of different lengths
  bool floats = false, negative = false, larger = false;  // the latter are integers beyond int64
  bool wide = false;                                      // integers and digits that no float64 is
  size_t values = 0, arrays_seen = 0;  // of the last array, and how many there were
  size_t times = 0;
  SeenTexts strings;
  std::string pointer;

  void Add(const JsonNumber& number, std::string_view text) {
    numbers = true;
    wide = wide || number.too_large;
    switch (number.kind) {
      case JsonNumber::Kind::kInteger:
        negative = negative || number.integer < 0;
        wide = wide || number.integer > kMostExact || number.integer < -kMostExact;
        break;
      case JsonNumber::Kind::kUnsigned:
        larger = wide = true;
        break;
      case JsonNumber::Kind::kLarge:
        floats = wide = true;
        break;
      case JsonNumber::Kind::kReal:
        floats = true;
        wide = wide || !KeepsDigits(text, number.real);
    }
  }

  // Whether no type of field gives back these values, or there is none yet to tell it: it is to be
  // JSON as text.
  bool is_any() const {
    if (objects) return arrays || scalars || !members;
    if (objects_within || arrays_within || (arrays && scalars)) return true;
    if (texts + numbers + bools != 1 || (null_within && !numbers)) return true;
    // float64 would round them.
    return numbers && wide && (floats || null_within || (larger && negative));
  }

  std::string type(bool missing) const {
    if (is_any()) return missing || null ? OrMissing(kAnyType) : kAnyType;
    // Where floats have no value they are NaN, so that only a sequence has a mask.
    const bool any_length =
        texts || sequence || values == 0 || null_within || (floats && (missing || null));
    const std::string dims = !arrays ? "[]" : any_length ? "[-1]" : StrCat("[", values, "]");
    const bool may_miss = missing || null || null_within;
    const std::string time = GuessedTimestampType(strings.kept());
    if (!time.empty()) {
      const std::string type = StrCat("int64", dims, time.substr(time.find(' ')));
      return may_miss ? OrMissing(type) : type;
    }
    const std::string type = bools                   ? "bool" + dims
                             : floats || null_within ? "float64" + dims
                             : larger                ? "uint64" + dims
                             : numbers               ? "int64" + dims
                             : arrays                ? "str[-1]"
                                                     : kTextType;
    return may_miss ? OrMissing(type) : type;
  }

 private:
  static constexpr int64_t kMostExact = int64_t{1} << 53;
};

// Looks at a value and, of an array, those in it. Returns how many these are.
size_t Look(const JsonText& text, const char* value, bool within, SeenValues* seen) {
  JsonNumber number;
  const JsonKind kind = text.KindOf(value);
  if (!within && kind != JsonKind::kNull) {
    bool* const seen_kind = kind == JsonKind::kArray    ? &seen->arrays
                            : kind == JsonKind::kObject ? &seen->objects
                                                        : &seen->scalars;
    *seen_kind = true;
  }
  switch (kind) {
    case JsonKind::kArray: {
      size_t count = 0;
      text.ForEachItem(value, [&](const char* item) {
        seen->arrays_within = seen->arrays_within || text.IsArray(item);
        count += Look(text, item, true, seen);
        return text.Skip(item);
      });
      return count;
    }
    case JsonKind::kText:
      seen->texts = true;
      seen->strings.Add(KeyOf(text.TextAt(value)));
      return 1;
    case JsonKind::kNumber:
      text.ReadNumber(value, &number);
      seen->Add(number, text.ScalarAt(value));
      return 1;
    case JsonKind::kObject:  // which is no value itself
      seen->objects_within = seen->objects_within || within;
      return 1;
    case JsonKind::kNull: {
      bool* const seen_null = within ? &seen->null_within : &seen->null;
      *seen_null = text.IsNull(value) || *seen_null;
      return 1;
    }
    case JsonKind::kBool:
      text.BoolAt(value);
      seen->bools = true;
      return 1;
  }
  return 0;
}

// Looks at the value of a key, or at a record.
void LookAtWhole(const JsonText& text, const char* value, SeenValues* seen) {
  const size_t count = Look(text, value, false, seen);
  if (text.IsArray(value)) {
    seen->sequence = seen->sequence || (seen->arrays_seen > 0 && seen->values != count);
    seen->values = count;
    ++seen->arrays_seen;
  }
  ++seen->times;
}

// The type of a field that is this value; "" for what is no JSON.
std::string TypeOf(const JsonText& text, const char* value) {
  SeenValues seen;
  try {
    text.Check(value);
    seen.values = Look(text, value, false, &seen);
  } catch (const Error& error) {
    if (error.interrupts()) throw;
    return "";
  }
  seen.sequence = true;  // the next one may be longer
  return seen.type(false);
}

// For an error about a value that does not fit its field: what reads it, or all values.
std::string FieldForValue(const JsonText& text, const Field& field, const char* value,
                          const char* infer) {
  const std::string type = TypeOf(text, value);
  const bool is_told = field.decode == Field::Decode::kText || field.decode == Field::Decode::kJson;
  if (type.empty() || is_told || field.names_things()) return "";
  const bool is_widest = field.bytes || field.from_text() || field.slot.dtype == DataType::kBool ||
                         field.slot.dtype == DataType::kFp64;
  const bool are_numbers =
      type.find("int64[") != std::string::npos || type.find("float64[") != std::string::npos;
  const bool may_be_array = field.sequence || field.slot.dims.size() > 1;
  if (!is_widest && are_numbers && text.IsArray(value) == may_be_array) {
    return StrCat("; ", type, " reads it", infer);
  }
  return StrCat("; ", kAnyType, " reads any value, as its text", infer);
}

}  // namespace

JsonParser::Found& JsonParser::FoundOfThread() {
  thread_local Found found;
  return found;
}

JsonParser::JsonParser(std::vector<Field> fields, Others others, const char* infer)
    : fields_(std::move(fields)),
      others_(others),
      infer_(infer),
      steps_(1),
      own_slots_(fields_.size()) {
  std::iota(own_slots_.begin(), own_slots_.end(), size_t{0});
  for (const Field& field : fields_) {
    Require(field.decode != Field::Decode::kJson || field.bytes, "field '", Escaped(field.name),
            "': decode=json is not for what is JSON already; str decode=json is its text");
    Require(field.separator == 0, "field '", Escaped(field.name),
            "': separator= is for cells of tables; several values are an array in JSON");
    RequireNullsAreTexts(field);
    AddField(field.name);
  }
}

void JsonParser::AddField(const std::string& name) {
  size_t step = 0;
  for (const std::string& key : KeysOf(name)) {
    const size_t last = steps_[step].next.size();
    const auto [known, is_new] = steps_[step].by_key.emplace(key, last);
    const size_t place = known->second;
    if (is_new) {
      steps_[step].next.push_back(steps_.size());
      steps_.emplace_back();
      steps_.back().key = key;
      steps_.back().pointer = StrCat(steps_[step].pointer, "/", PointerStep(key));
      steps_.back().has_backslash = HasEscape(key);
    }
    const std::optional<size_t> item = ItemNumber(key);
    if (item && name[0] == '/') steps_[step].by_item.emplace(*item, place);
    step = steps_[step].next[place];
  }
  steps_[step].is_field = true;
  field_steps_.push_back(step);
}

void JsonParser::Find(const JsonText& text, Found* found) const {
  found->values.assign(steps_.size(), nullptr);
  found->other_in = nullptr;
  InRecord(text, [&] {
    found->values[0] = text.root();
    text.CheckEnd(FindWithin(text, steps_[0], text.root(), found));
    NameOf(text, text.root());
  });
}

// Goes through a value, and finds those of the steps from here. Returns where it ends.
const char* JsonParser::FindWithin(const JsonText& text, const Step& step, const char* value,
                                   Found* found) const {
  if (step.next.empty()) return text.Skip(value);
  if (text.IsObject(value)) {
    size_t expected = 0;  // writers keep an order, so that the next field mostly comes next
    return text.ForEachMember(value, [&](std::string_view written, const char* member) {
      if (expected == step.next.size() || !steps_[step.next[expected]].IsWritten(written)) {
        const auto known =
            HasEscape(written) ? step.by_key.find(KeyOf(written)) : step.by_key.find(written);
        if (known == step.by_key.end()) {
          if (others_ == Others::kIgnore) return text.Skip(member);
          return PassOver(text, step, written, member, found);
        }
        expected = known->second;
      }
      return FindAt(text, step.next[expected++], member, found);
    });
  }
  if (!text.IsArray(value) || step.by_item.empty()) return PassOver(text, step, {}, value, found);
  size_t number = 0;
  return text.ForEachItem(value, [&](const char* item) {
    const auto known = step.by_item.find(number++);
    if (known == step.by_item.end()) return text.Skip(item);
    return FindAt(text, step.next[known->second], item, found);
  });
}

const char* JsonParser::PassOver(const JsonText& text, const Step& step, std::string_view key,
                                 const char* value, Found* found) const {
  const bool may_be_null = key.data() == nullptr;
  const bool refuses = others_ == Others::kError && !step.is_field;
  if (refuses && found->other_in == nullptr &&
      !(may_be_null && text.KindOf(value) == JsonKind::kNull)) {
    found->other_in = &step;
    found->other_key = key;
    found->other = value;
  }
  return text.Skip(value);
}

void JsonParser::RefuseOther(const JsonText& text, const Found& found) {
  const std::string& pointer = found.other_in->pointer;
  const std::string ignore = StrCat("; ", kOthersIgnored, kInferAll);
  if (found.other_key.data() == nullptr) {
    if (pointer.empty()) {
      Throw(ErrorCode::kDataLoss, "the record is ", NameOf(text, found.other),
            ", not an object; the field ", QuotedEntry(EntryForRecord(kAnyType)),
            " in the place of all others reads any record", ignore);
    }
    Throw(ErrorCode::kDataLoss, "'", Escaped(pointer), "' is ", NameOf(text, found.other),
          " here, and fields are for what is in an object there; the field ",
          QuotedEntry(EntryFor(pointer, kAnyType)), " in their place reads any value", ignore);
  }
  const std::string key = KeyOf(found.other_key);
  const bool plain = pointer.empty() && CanBeNamed(key) && key[0] != '/';
  const std::string name = plain ? key : StrCat(pointer, "/", PointerStep(key));
  const std::string type = TypeOf(text, found.other);
  Throw(ErrorCode::kDataLoss, "no field names the key '", Escaped(name), "', at byte ",
        text.OffsetOf(found.other), " of the JSON; the field ",
        QuotedEntry(EntryFor(name, OrMissing(type.empty() ? kAnyType : type))), " reads it",
        ignore);
}

const char* JsonParser::FindAt(const JsonText& text, size_t step, const char* value,
                               Found* found) const {
  // The key stands here a second time.
  if (found->values[step] != nullptr) Forget(step, &found->values);
  found->values[step] = value;
  return FindWithin(text, steps_[step], value, found);
}

void JsonParser::Forget(size_t step, std::vector<const char*>* values) const {
  (*values)[step] = nullptr;
  for (const size_t next : steps_[step].next) {
    if ((*values)[next] != nullptr) Forget(next, values);
  }
}

void JsonParser::Load(const Ticket* tickets, size_t n, Rows* rows) const {
  FieldRows field_rows(fields_, n, rows);
  for (const Ticket& ticket : Prefetched(tickets, n)) {
    LoadPart({ticket.bytes, ticket.size}, own_slots_.data(), &field_rows);
  }
}

void JsonParser::LoadPart(std::string_view record, const size_t* slots, FieldRows* rows) const {
  const JsonText text(record);
  Found& found = FoundOfThread();
  Find(text, &found);
  if (found.other_in != nullptr) RefuseOther(text, found);
  const Texts texts(record.size());
  for (size_t i = 0; i < fields_.size(); ++i) {
    const Field& field = fields_[i];
    const char* const value = found.values[field_steps_[i]];
    ValueLoader loader(text, texts, rows);
    texts.Clear();
    try {
      if (!IsMissing(text, texts, field, value)) {
        loader.Load(field, slots[i], value);
      } else {
        if (field.missing != Field::Missing::kDefault) NoValue(text, texts, field, value, infer_);
        rows->AppendDefault(slots[i]);
      }
    } catch (const Error& error) {
      if (error.interrupts()) throw;
      const char* const here = loader.here() == nullptr ? value : loader.here();
      throw error.WithMessage(
          StrCat("field '", Escaped(field.name), "': ", error.message(),
                 here == nullptr ? "" : StrCat(" (at byte ", text.OffsetOf(here), " of the JSON)"),
                 value == nullptr ? "" : FieldForValue(text, field, value, infer_)));
    }
  }
}

bool JsonParser::IsLeftOut(std::string_view record) const {
  const JsonText text(record);
  Found& found = FoundOfThread();
  try {
    Find(text, &found);
    const Texts texts(record.size());
    for (size_t i = 0; i < fields_.size(); ++i) {
      const Field& field = fields_[i];
      const char* const value = found.values[field_steps_[i]];
      if (field.missing != Field::Missing::kSkip) continue;
      if (IsMissing(text, texts, field, value)) return true;
      if (field.vocabulary != nullptr && text.KindOf(value) == JsonKind::kText &&
          field.IsMissing(texts.Decode(text.TextAt(value)))) {
        return true;
      }
    }
  } catch (const Error& error) {
    if (error.interrupts()) throw;
  }
  return false;
}

// What is seen of the records.
struct JsonFieldsOfRecords::Seen {
  // Looks at the members of an object. `at` is its pointer, "" of the outermost one. Returns how
  // many there are.
  size_t Add(const JsonText& text, const char* object, const std::string& at) {
    std::vector<std::pair<std::string, const char*>> members;
    std::unordered_map<std::string, size_t> member_places;
    text.ForEachMember(object, [&](std::string_view written, const char* value) {
      std::string key = KeyOf(written);
      const auto [known, is_new] = member_places.emplace(key, members.size());
      if (is_new) members.emplace_back(std::move(key), value);
      members[known->second].second = value;  // of a key twice the last one
      return text.Skip(value);
    });
    for (const auto& [key, value] : members) {
      const bool plain = at.empty() && (key.empty() || key[0] != '/');
      std::string inner = at;  // no StrCat, whose stream takes most of the time
      inner.append("/").append(PointerStep(key));
      const auto [known, is_new] = places.emplace(plain ? key : inner, keys.size());
      if (is_new) {
        keys.emplace_back(known->first, SeenValues());
        // A long key stands in the pointers of all that is within it.
        name_bytes += known->first.size() + inner.size();
        if (name_bytes > kMostNameBytes) {
          Throw(ErrorCode::kResourceLimit, "the names of the keys of the JSON have more than ",
                kMostNameBytes,
                " bytes together, with those that they are in; fields that are "
                "declared read it");
        }
      }
      const size_t place = known->second;  // `keys` may move below
      SeenValues& seen = keys[place].second;
      seen.pointer = inner;
      LookAtWhole(text, value, &seen);
      if (text.IsObject(value) && Add(text, value, inner) > 0) {
        keys[place].second.members = true;
      }
    }
    return members.size();
  }

  static constexpr size_t kMostNameBytes = size_t{16} << 20;
  size_t name_bytes = 0;
  std::vector<std::pair<std::string, SeenValues>> keys;  // as they appear first
  std::unordered_map<std::string, size_t> places;        // in these
  SeenValues records;
};

namespace {

// The slots of fields with their masks, and those of what has no place any more.
size_t CountSlots(const FittingFields& fields) {
  return fields.entries.size() + fields.left_out.size() +
         static_cast<size_t>(std::count_if(
             fields.entries.begin(), fields.entries.end(), [](const std::string& entry) {
               return entry.find(" missing=mask") != std::string::npos;
             }));
}

}  // namespace

JsonFieldsOfRecords::JsonFieldsOfRecords() : seen_(std::make_unique<Seen>()) {}

JsonFieldsOfRecords::~JsonFieldsOfRecords() = default;

void JsonFieldsOfRecords::Add(const std::vector<std::string_view>& values) {
  const JsonText text(values[0]);
  InRecord(text, [&] {
    text.CheckEnd(text.Check(text.root()));
    LookAtWhole(text, text.root(), &seen_->records);
    if (text.IsObject(text.root())) seen_->Add(text, text.root(), "");
  });
}

FittingFields JsonFieldsOfRecords::Fields() const {
  const SeenValues& records = seen_->records;
  // Where all are objects, or null, their keys are fields.
  if (records.times > 0 && (seen_->keys.empty() || records.arrays || records.scalars)) {
    FittingFields fields;
    fields.entries.push_back(EntryForRecord(records.type(false)));
    return fields;
  }
  std::set<std::string> any;  // pointers to what is JSON as text, with what is in it
  for (const auto& [key, seen] : seen_->keys) {
    if (seen.is_any()) any.insert(seen.pointer);
  }
  FittingFields fields = FieldsBeside(any);
  if (CountSlots(fields) <= kMaxSlots) return fields;
  // The keys of an object are ids, perhaps, of which each record has others.
  for (const auto& [key, seen] : seen_->keys) {
    if (seen.objects && seen.pointer.rfind('/') == 0) any.insert(seen.pointer);
  }
  return FieldsBeside(any);
}

FittingFields JsonFieldsOfRecords::FieldsBeside(const std::set<std::string>& any) const {
  const auto is_in_any = [&](const std::string& pointer) {
    for (size_t end = pointer.rfind('/'); end > 0; end = pointer.rfind('/', end - 1)) {
      if (any.count(pointer.substr(0, end)) > 0) return true;
    }
    return false;
  };
  FittingFields fields;
  for (const auto& [key, seen] : seen_->keys) {
    const bool is_any = any.count(seen.pointer) > 0;
    const bool is_apart = seen.objects && !is_any;  // its members are fields
    if (is_apart || is_in_any(seen.pointer)) continue;
    const std::string& name = key.empty() ? seen.pointer : key;
    const char* const problem = !CanBeNamed(name) ? "its name cannot be written in an entry"
                                : fields.entries.size() == kMaxSlots ? "there are too many keys"
                                                                     : "";
    if (*problem != '\0') {
      fields.left_out.push_back(StrCat("'", Escaped(name), "': ", problem));
      continue;
    }
    const bool may_lack = seen.times < seen_->records.times || (is_any && seen.null);
    const std::string type = !is_any    ? seen.type(may_lack)
                             : may_lack ? OrMissing(kAnyType)
                                        : kAnyType;
    fields.entries.push_back(EntryFor(name, type));
  }
  return fields;
}

FittingFields GuessJsonFields(const std::vector<std::string>& records) {
  JsonFieldsOfRecords fields;
  for (const std::string& record : records) fields.Add({record});
  return fields.Fields();
}

}  // namespace millhopper
