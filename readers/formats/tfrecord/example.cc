// SPDX-License-Identifier: Apache-2.0
#include "readers/formats/tfrecord/example.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/spelling.h"
#include "framework/reader/prefetched.h"
#include "readers/fields/field_rows.h"
#include "readers/fields/guessed_type.h"

namespace millhopper {
namespace {

// Field numbers of the messages.
constexpr uint32_t kFeatures = 1;         // Example.features, SequenceExample.context
constexpr uint32_t kFeatureLists = 2;     // SequenceExample.feature_lists
constexpr uint32_t kEntry = 1;            // Features.feature, FeatureLists.feature_list
constexpr uint32_t kKey = 1, kValue = 2;  // of an entry of a map
constexpr uint32_t kFeatureOfList = 1;    // FeatureList.feature
constexpr uint32_t kValues = 1;           // BytesList.value, FloatList.value, Int64List.value
enum class Kind : uint32_t { kNone = 0, kBytes = 1, kFloats = 2, kIntegers = 3 };  // of a Feature

[[noreturn]] void Malformed() {
  Throw(ErrorCode::kDataLoss, "the record is no Example: its protobuf encoding is damaged");
}

// Reads the encoding of a message (protobuf.dev/programming-guides/encoding).
class Message {
 public:
  explicit Message(std::string_view bytes)
      : here_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  // Goes to the next field; false at the end.
  bool Next() {
    if (here_ == end_) return false;
    const uint64_t tag = Varint();
    number_ = static_cast<uint32_t>(tag >> 3);
    wire_type_ = static_cast<uint32_t>(tag & 7);
    switch (wire_type_) {
      case kVarint:
        varint_ = Varint();
        return true;
      case kFixed64:
        Take(8);
        return true;
      case kBytes:
        Take(Varint());
        return true;
      case kFixed32:
        Take(4);
        return true;
      default:
        Malformed();
    }
  }

  uint32_t number() const { return number_; }
  bool is_bytes() const { return wire_type_ == kBytes; }
  bool is_varint() const { return wire_type_ == kVarint; }
  bool is_fixed32() const { return wire_type_ == kFixed32; }
  std::string_view bytes() const { return bytes_; }
  uint64_t varint() const { return varint_; }

  // Whether the next field is this one, of the wire type for bytes. Then it has been gone to.
  bool NextBytes(uint32_t number) { return Next() && number_ == number && is_bytes(); }

 private:
  static constexpr uint32_t kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5;

  uint64_t Varint() {
    if (here_ < end_ && static_cast<signed char>(*here_) >= 0) {
      return static_cast<unsigned char>(*here_++);
    }
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && here_ < end_; shift += 7) {
      const auto byte = static_cast<unsigned char>(*here_++);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    Malformed();
  }

  void Take(uint64_t size) {
    if (size > static_cast<uint64_t>(end_ - here_)) Malformed();
    bytes_ = std::string_view(here_, size);
    here_ += size;
  }

  const char* here_;
  const char* const end_;
  uint32_t number_ = 0;
  uint32_t wire_type_ = 0;
  uint64_t varint_ = 0;
  std::string_view bytes_;
};

// Takes a field of bytes from the front of a message, if its tag is this byte. Writers mostly write
// the fields in the order of their numbers, each once; what does not look so goes the general way.
bool TakeBytes(char tag, std::string_view* message, std::string_view* bytes) {
  if (message->size() < 2 || message->front() != tag) return false;
  size_t size = static_cast<unsigned char>((*message)[1]);
  size_t at = 2;
  if (size >= 0x80) {
    if (message->size() < 3) return false;
    const size_t high = static_cast<unsigned char>((*message)[2]);
    if (high >= 0x80) return false;
    size = (size & 0x7f) | high << 7;
    at = 3;
  }
  if (size > message->size() - at) return false;
  *bytes = std::string_view(message->data() + at, size);
  message->remove_prefix(at + size);
  return true;
}

constexpr char BytesTag(uint32_t number) { return static_cast<char>(number << 3 | 2); }

void ReadEntry(std::string_view entry, std::string_view* key, std::string_view* value) {
  std::string_view rest = entry;
  if (TakeBytes(BytesTag(kKey), &rest, key) && TakeBytes(BytesTag(kValue), &rest, value) &&
      rest.empty()) {
    return;
  }
  *key = *value = std::string_view();
  for (Message parts(entry); parts.Next();) {
    if (!parts.is_bytes()) continue;
    if (parts.number() == kKey) *key = parts.bytes();
    if (parts.number() == kValue) *value = parts.bytes();
  }
}

// Calls function(name, value) for each entry of a Features or FeatureLists.
template <typename Function>
void ForEachEntry(std::string_view features, const Function& function) {
  std::string_view entry, key, value;
  while (TakeBytes(BytesTag(kEntry), &features, &entry)) {
    ReadEntry(entry, &key, &value);
    function(key, value);
  }
  for (Message others(features); others.Next();) {
    if (others.number() != kEntry || !others.is_bytes()) continue;
    ReadEntry(others.bytes(), &key, &value);
    function(key, value);
  }
}

const char* NameOf(Kind kind) {
  return kind == Kind::kBytes ? "bytes" : kind == Kind::kFloats ? "floats" : "integers";
}

// Calls list(kind, bytes of the list) for each list of values in a Feature.
template <typename List>
void ForEachList(std::string_view feature, const List& list) {
  for (Message message(feature); message.Next();) {
    if (message.number() < 1 || message.number() > 3 || !message.is_bytes()) continue;
    list(static_cast<Kind>(message.number()), message.bytes());
  }
}

// Calls feature(bytes) for the Feature, or for each of a list.
template <typename Function>
void ForEachFeature(std::string_view bytes, bool is_list, const Function& feature) {
  if (!is_list) return feature(bytes);
  for (Message message(bytes); message.Next();) {
    if (message.number() == kFeatureOfList && message.is_bytes()) feature(message.bytes());
  }
}

// How many varints end in the bytes.
size_t CountVarints(std::string_view bytes) {
  size_t count = 0;
  for (const char byte : bytes) count += static_cast<signed char>(byte) >= 0 ? 1 : 0;
  return count;
}

// How many values a field of a list holds that is encoded as bytes.
size_t CountPacked(Kind kind, std::string_view bytes) {
  return kind == Kind::kBytes ? 1 : kind == Kind::kFloats ? bytes.size() / 4 : CountVarints(bytes);
}

size_t CountValues(Kind kind, std::string_view list) {
  size_t count = 0;
  for (Message message(list); message.Next();) {
    if (message.number() != kValues) continue;
    if (message.is_bytes()) {
      count += CountPacked(kind, message.bytes());
    } else {
      count += (kind == Kind::kFloats && message.is_fixed32()) ||
                       (kind == Kind::kIntegers && message.is_varint())
                   ? 1
                   : 0;
    }
  }
  return count;
}

// Writes values to places one after another.
class Writer {
 public:
  Writer(const Field& field, char* place)
      : field_(field), place_(place), size_(field.value_bytes()) {}

  void WriteList(Kind kind, std::string_view list) {
    for (Message message(list); message.Next();) {
      if (message.number() != kValues) continue;
      if (message.is_bytes()) {
        WritePacked(kind, message.bytes());
      } else if (kind == Kind::kFloats && message.is_fixed32()) {
        WriteFloats(message.bytes());
      } else if (kind == Kind::kIntegers && message.is_varint()) {
        field_.Write(static_cast<int64_t>(message.varint()), Take());
      }
    }
  }

  // Writes a field of a list that is encoded as bytes: packed numbers, or one value of bytes.
  void WritePacked(Kind kind, std::string_view bytes) {
    if (kind == Kind::kBytes) return field_.ReadAll(bytes, Take());
    if (kind == Kind::kFloats) return WriteFloats(bytes);
    WriteVarints(bytes);
  }

 private:
  char* Take() {
    char* const place = place_;
    place_ += size_;
    return place;
  }

  void WriteFloats(std::string_view bytes) {
    if (bytes.size() % 4 != 0) Malformed();
    if (field_.slot.dtype == DataType::kFp32 && field_.scale == 1) {
      if (!bytes.empty()) std::memcpy(place_, bytes.data(), bytes.size());
      place_ += bytes.size();
      return;
    }
    for (size_t i = 0; i < bytes.size(); i += 4) {
      float value;
      std::memcpy(&value, bytes.data() + i, sizeof(value));
      field_.Write(static_cast<double>(value), Take());
    }
  }

  void WriteVarints(std::string_view bytes) {
    const char* here = bytes.data();
    const char* const end = here + bytes.size();
    const bool plain = field_.slot.dtype == DataType::kInt64;
    while (here < end) {
      uint64_t value = 0;
      for (unsigned shift = 0;; shift += 7) {
        if (here == end || shift > 63) Malformed();
        const auto byte = static_cast<unsigned char>(*here++);
        value |= static_cast<uint64_t>(byte & 0x7f) << shift;
        if (byte < 0x80) break;
      }
      if (plain) {
        std::memcpy(Take(), &value, sizeof(value));
      } else {
        field_.Write(static_cast<int64_t>(value), Take());
      }
    }
  }

  const Field& field_;
  char* place_;
  const size_t size_;
};

// Throws unless values of this kind can become those of the field.
void CheckKind(const Field& field, Kind kind) {
  const bool from_text = field.from_text();
  const bool fits = kind == Kind::kBytes    ? field.bytes || from_text
                    : kind == Kind::kFloats ? IsFloat(field.slot.dtype) && !from_text
                                            : !field.bytes && !from_text;
  if (fits) return;
  Throw(ErrorCode::kDataLoss, "it holds ", NameOf(kind), ", ",
        field.bytes ? field.Declared() : ToString(field.slot.dtype), " is declared",
        kind == Kind::kBytes ? " (decode=text reads numbers from text, decode=timestamp dates and "
                               "times, hash= and vocab= number it)"
        : kind == Kind::kFloats ? "; float32[] or float32[-1] takes them"
                                : "; int64[] or int64[-1] takes them");
}

// Throws that no field names a feature, with one that reads it.
[[noreturn]] void RefuseFeature(std::string_view name, std::string_view value, bool is_list);

}  // namespace

struct ExampleParser::Found {
  std::string_view bytes;  // of the Feature or FeatureList
  bool present = false;
  bool is_list = false;

  size_t CountAndCheck(const Field& field) const {
    size_t count = 0;
    ForEachFeature(bytes, is_list, [&](std::string_view feature) {
      ForEachList(feature, [&](Kind kind, std::string_view list) {
        const size_t here = CountValues(kind, list);
        if (here > 0) CheckKind(field, kind);
        count += here;
      });
    });
    return count;
  }

  void Write(const Field& field, char* place) const {
    Writer writer(field, place);
    ForEachFeature(bytes, is_list, [&](std::string_view feature) {
      ForEachList(feature, [&](Kind kind, std::string_view list) { writer.WriteList(kind, list); });
    });
  }

  // Throws unless each step of a list has as many values as one of the field.
  void CheckSteps(const Field& field) const {
    const size_t in_step = field.bytes ? 1 : field.values;
    size_t step = 0;
    ForEachFeature(bytes, is_list, [&](std::string_view feature) {
      size_t count = 0;
      ForEachList(feature,
                  [&](Kind kind, std::string_view list) { count += CountValues(kind, list); });
      if (count != in_step) {
        Throw(ErrorCode::kDataLoss, "step ", step, " of its list has ", count,
              count == 1 ? " value" : " values", ", others have ", in_step,
              ", which a slot cannot tell apart; with others \"ignore\" it yields the values "
              "one after another");
      }
      ++step;
    });
  }

  // The values of a feature that holds one list of one field: packed numbers, or one value of
  // bytes. Of any other feature, kNone.
  std::pair<Kind, std::string_view> SimpleValues() const {
    if (is_list || bytes.empty()) return {Kind::kNone, {}};
    for (const Kind kind : {Kind::kIntegers, Kind::kFloats, Kind::kBytes}) {
      const char tag = BytesTag(static_cast<uint32_t>(kind));
      if (bytes.front() != tag) continue;
      std::string_view feature = bytes, list, values;
      const bool simple = TakeBytes(tag, &feature, &list) && feature.empty() &&
                          TakeBytes(BytesTag(kValues), &list, &values) && list.empty();
      if (simple) return {kind, values};
    }
    return {Kind::kNone, {}};
  }

  // Calls value(bytes) for each value of lists of bytes.
  template <typename Value>
  void ForEachValue(const Value& value) const {
    ForEachFeature(bytes, is_list, [&](std::string_view feature) {
      ForEachList(feature, [&](Kind kind, std::string_view list) {
        if (kind != Kind::kBytes) return;
        for (Message message(list); message.Next();) {
          if (message.number() == kValues && message.is_bytes()) value(message.bytes());
        }
      });
    });
  }
};

ExampleParser::ExampleParser(std::vector<Field> fields, Others others)
    : fields_(std::move(fields)), others_(others) {
  for (size_t i = 0; i < fields_.size(); ++i) {
    Require(by_name_.emplace(fields_[i].name, i).second, "two fields are named '",
            Escaped(fields_[i].name), "'");
    Require(fields_[i].decode != Field::Decode::kJson, "field '", Escaped(fields_[i].name),
            "': decode=json is not for features");
    RefuseCellOptions(fields_[i]);
  }
}

void ExampleParser::FindAmong(std::string_view features, bool lists, size_t* next,
                              std::vector<Found>* found) const {
  ForEachEntry(features, [&](std::string_view key, std::string_view value) {
    // Writers keep an order, so that the next field is mostly the one after the last.
    size_t field = *next < fields_.size() && fields_[*next].name == key ? *next : fields_.size();
    if (field == fields_.size()) {
      const auto named = by_name_.find(key);
      if (named == by_name_.end()) {
        if (others_ == Others::kError) RefuseFeature(key, value, lists);
        return;
      }
      field = named->second;
    }
    if (others_ == Others::kError && (*found)[field].present && (*found)[field].is_list != lists) {
      Throw(ErrorCode::kDataLoss, "the record has the feature '", Escaped(std::string(key)),
            "' in its context and as a list; with others \"ignore\" the list is read");
    }
    (*found)[field] = {value, true, lists};
    *next = field + 1;
  });
}

void ExampleParser::Find(std::string_view record, std::vector<Found>* found) const {
  found->assign(fields_.size(), Found());
  size_t next = 0;
  for (Message message(record); message.Next();) {
    const bool lists = message.number() == kFeatureLists;
    if (message.is_bytes() && (lists || message.number() == kFeatures)) {
      FindAmong(message.bytes(), lists, &next, found);
    } else if (others_ == Others::kError) {
      Malformed();
    }
  }
}

namespace {

// Throws that a record has no feature for a field, saying which ones it has.
[[noreturn]] void NoFeature(const Field& field, std::string_view record) {
  std::vector<std::string> names;
  for (Message message(record); message.Next();) {
    const bool has_entries = message.number() == kFeatures || message.number() == kFeatureLists;
    if (!message.is_bytes() || !has_entries) continue;
    ForEachEntry(message.bytes(),
                 [&](std::string_view key, std::string_view) { names.emplace_back(key); });
  }
  field.ThrowMissing(StrCat("the record does not have it; it has ",
                            names.empty() ? "none" : Listed(names), DidYouMean(field.name, names)));
}

}  // namespace

bool ExampleParser::IsLeftOut(std::string_view record) const {
  thread_local std::vector<Found> found;
  try {
    Find(record, &found);
    for (size_t i = 0; i < fields_.size(); ++i) {
      const Field& field = fields_[i];
      if (field.missing != Field::Missing::kSkip) continue;
      if (!found[i].present || found[i].CountAndCheck(field) == 0) return true;
      if (field.vocabulary == nullptr) continue;
      bool known = true;
      found[i].ForEachValue(
          [&](std::string_view word) { known = known && !field.IsMissing(word); });
      if (!known) return true;
    }
  } catch (const Error& error) {
    if (error.interrupts()) throw;
  }
  return false;
}

void ExampleParser::LoadFeature(size_t slot, const Found& found, std::string_view record,
                                FieldRows* rows) const {
  const Field& field = fields_[slot];
  if (!found.present) {
    if (field.missing != Field::Missing::kDefault) NoFeature(field, record);
    return rows->AppendDefault(slot);
  }
  if (others_ == Others::kError && found.is_list && field.sequence) found.CheckSteps(field);
  const auto [kind, values] = found.SimpleValues();
  if (kind != Kind::kNone && !values.empty()) {
    CheckKind(field, kind);
    if (field.bytes) return rows->AppendBytes(slot, values);
    const size_t count = CountPacked(kind, values);
    return Writer(field, rows->Take(slot, count)).WritePacked(kind, values);
  }
  const size_t count = found.CountAndCheck(field);
  const bool takes_none =
      field.sequence && !field.has_default && (field.bytes_list || !field.bytes);
  if (count == 0 && !takes_none) return rows->AppendDefault(slot, "it has no value");
  if (field.bytes) {
    thread_local std::vector<std::string_view> list;
    list.clear();
    found.ForEachValue([&](std::string_view value) { list.push_back(value); });
    rows->AppendBytes(slot, list);
  } else {
    found.Write(field, rows->Take(slot, count));
  }
}

void ExampleParser::Load(const Ticket* tickets, size_t n, Rows* rows) const {
  thread_local std::vector<Found> found;
  FieldRows field_rows(fields_, n, rows);
  for (const Ticket& ticket : Prefetched(tickets, n)) {
    const std::string_view record(ticket.bytes, ticket.size);
    Find(record, &found);
    for (size_t slot = 0; slot < fields_.size(); ++slot) {
      try {
        LoadFeature(slot, found[slot], record, &field_rows);
      } catch (const Error& error) {
        if (error.interrupts()) throw;
        throw error.WithMessage(
            StrCat("feature '", Escaped(fields_[slot].name), "': ", error.message()));
      }
    }
  }
}

namespace {

// The problem of a list with steps that no dims tell.
constexpr char kManyInStep[] =
    "its steps are lists of several values, of different lengths or of bytes";

// What the values of a feature are in one record, or in several.
struct SeenFeature {
  Kind kind = Kind::kNone;
  size_t values = 0;  // in a record that has some
  size_t records = 0;
  size_t in_step = 0;  // values of a step of a list
  bool steps_differ = false;
  bool sequence = false;  // of a list, or of different numbers of values
  bool empty = false;     // has no value in some record
  bool kinds_differ = false;
  bool twice = false;  // in the context and as a list

  void Add(const SeenFeature& more) {
    ++records;
    empty = empty || more.values == 0;
    twice = twice || more.twice;
    sequence = sequence || more.sequence;
    steps_differ = steps_differ || more.steps_differ ||
                   (in_step > 0 && more.in_step > 0 && in_step != more.in_step);
    if (more.in_step > 0) in_step = more.in_step;
    if (values > 0 && more.values > 0) {  // an empty list may be of any kind
      kinds_differ = kinds_differ || more.kind != kind;
      sequence = sequence || more.values != values;
    }
    if (values == 0 && more.kind != Kind::kNone) kind = more.kind;
    if (more.values > 0) values = more.values;
  }

  // Why no field can be these values; "" if one can.
  const char* problem() const {
    if (kinds_differ) return "its values are bytes, floats or integers by turns";
    if (twice) return "a record has it in its context and as a list";
    if (steps_differ || (kind == Kind::kBytes && in_step > 1)) {
      return kManyInStep;
    }
    return "";
  }

  // What to write about a feature that has a problem, "; ..."; "" if there is nothing.
  std::string Advice(const std::string& name, bool absent) const {
    if (problem() != kManyInStep || !CanBeNamed(name)) return "";
    SeenFeature flat = *this;
    flat.in_step = 0;
    return StrCat("; without the steps, the field ", QuotedEntry(EntryFor(name, flat.type(absent))),
                  " reads the values one after another; a slot of bytes, where it is declared, is "
                  "the whole record");
  }

  // Of a feature that some records do not have, if `absent`.
  std::string type(bool absent) const {
    const bool is_list = sequence || values == 0;
    const std::string dims = in_step > 1   ? StrCat("[-1, ", in_step, "]")
                             : is_list     ? "[-1]"
                             : values == 1 ? "[]"
                                           : StrCat("[", values, "]");
    const std::string type = kind == Kind::kFloats     ? "float32" + dims
                             : kind == Kind::kIntegers ? "int64" + dims
                             : is_list || values > 1   ? "bytes[-1]"
                                                       : "bytes";
    const bool takes_none = type.find("[-1") != std::string::npos;
    return absent || (empty && !takes_none) ? OrMissing(type) : type;
  }
};

// Throws unless the fields of a message are bytes and have the numbers from 1 to this one.
void CheckNumbers(std::string_view message, uint32_t most) {
  for (Message fields(message); fields.Next();) {
    if (!fields.is_bytes() || fields.number() < 1 || fields.number() > most) Malformed();
  }
}

SeenFeature FeatureOf(std::string_view value, bool is_list) {
  SeenFeature feature;
  feature.records = 1;
  feature.sequence = is_list;
  size_t step = 0;
  if (is_list) CheckNumbers(value, kFeatureOfList);
  ForEachFeature(value, is_list, [&](std::string_view of_list) {
    CheckNumbers(of_list, static_cast<uint32_t>(Kind::kIntegers));
    const size_t before = feature.values;
    ForEachList(of_list, [&](Kind kind, std::string_view list) {
      feature.kind = kind;
      feature.values += CountValues(kind, list);
    });
    const size_t here = feature.values - before;
    if (!is_list) return;
    feature.steps_differ = feature.steps_differ || (step > 0 && here != feature.in_step);
    feature.in_step = here;
    ++step;
  });
  return feature;
}

// Throws for a record that only looks like an Example up to a point: what another message has
// besides would be left out.
std::map<std::string, SeenFeature> FeaturesOf(std::string_view record) {
  std::map<std::string, SeenFeature> seen;
  CheckNumbers(record, kFeatureLists);
  std::set<std::string> in_context;
  for (Message message(record); message.Next();) {
    const bool lists = message.number() == kFeatureLists;
    CheckNumbers(message.bytes(), kEntry);
    ForEachEntry(message.bytes(), [&](std::string_view key, std::string_view value) {
      std::string name(key);
      SeenFeature feature = FeatureOf(value, lists);
      feature.twice = lists && in_context.count(name) > 0;
      if (!lists) in_context.insert(name);
      seen[std::move(name)] = feature;
    });
  }
  return seen;
}

void RefuseFeature(std::string_view name, std::string_view value, bool is_list) {
  const SeenFeature feature = FeatureOf(value, is_list);
  const std::string named(name);
  const bool can_be_read = CanBeNamed(named) && *feature.problem() == '\0';
  RefuseOther(StrCat("the record has the feature '", Escaped(named), "'"),
              can_be_read ? EntryFor(named, feature.type(true)) : "", kInferAll);
}

}  // namespace

struct ExampleFieldsOfRecords::Seen {
  std::map<std::string, SeenFeature> features;
  size_t records = 0;
};

ExampleFieldsOfRecords::ExampleFieldsOfRecords() : seen_(std::make_unique<Seen>()) {}

ExampleFieldsOfRecords::~ExampleFieldsOfRecords() = default;

void ExampleFieldsOfRecords::Add(const std::vector<std::string_view>& values) {
  for (const auto& [name, feature] : FeaturesOf(values[0])) seen_->features[name].Add(feature);
  ++seen_->records;
}

FittingFields ExampleFieldsOfRecords::Fields() const {
  FittingFields fields;
  for (const auto& [name, feature] : seen_->features) {
    const char* const problem =
        CanBeNamed(name) ? feature.problem() : "its name cannot be written in an entry";
    const bool absent = feature.records < seen_->records;
    if (*problem != '\0') {
      fields.left_out.push_back(
          StrCat("'", Escaped(name), "': ", problem, feature.Advice(name, absent)));
    } else {
      fields.entries.push_back(EntryFor(name, feature.type(absent)));
    }
  }
  return fields;
}

FittingFields GuessExampleFields(const std::vector<std::string_view>& records) {
  ExampleFieldsOfRecords fields;
  for (const std::string_view record : records) {
    try {
      fields.Add({record});
    } catch (const Error& error) {
      if (error.interrupts()) throw;
      break;
    }
  }
  return fields.Fields();
}

}  // namespace millhopper
