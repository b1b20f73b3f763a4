// SPDX-License-Identifier: Apache-2.0
// The notation. In field_values.cc text and numbers become values.
#include "readers/fields/fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/spelling.h"
#include "framework/memory/memory.h"
#include "framework/reader/file_format.h"
#include "readers/fields/timestamp.h"
#include "readers/support/text_file.h"

namespace millhopper {
namespace {

constexpr char kMask[] = "mask";  // of missing=
constexpr char kStr[] = "str";    // the type of text

// Cuts an entry into its words. Quotes keep spaces together, and so do the brackets of dims. Within
// quotes, two of them are one that belongs to the word.
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
      if (c == '"' && quoted && rest_.substr(at + 1, 1) == "\"") {
        ++at;  // two of them within quotes are one of the word
      } else if (c == '"') {
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

// Whether a type, without its dims, is one of bytes.
bool IsBytes(const std::string& type) { return type == "bytes" || type == kStr; }

// Whether a word is a type, or was meant to be one.
bool IsType(const std::string& word) {
  return word.find('[') != std::string::npos || IsBytes(word) ||
         std::any_of(std::begin(kDataTypes), std::end(kDataTypes),
                     [&](DataType type) { return word == ToString(type); });
}

// An entry in parts.
struct Entry {
  EntryHead head;
  std::vector<std::string> options;
};

Entry CutEntry(const std::string& text) {
  std::vector<std::string> words;
  Words cut(text);
  for (std::string word; cut.Next(&word);) words.push_back(word);
  Entry entry;
  if (words.empty()) return entry;
  EntryHead& head = entry.head;
  head.slot = words[0];
  const bool renames = words.size() > 2 && words[1] == "=";
  const size_t first = renames ? 2 : 0;
  // Of a name without a type, all words are parts.
  size_t type = first + 1;
  if (renames || (type < words.size() && words[type].find('=') == std::string::npos)) {
    while (type < words.size() && !IsType(words[type])) ++type;
  }
  head.name = words[first];
  for (size_t i = first + 1; i < type; ++i) head.name += " " + words[i];
  if (!renames) head.slot = head.name;
  if (type >= words.size()) return entry;
  head.type = words[type];
  entry.options.assign(words.begin() + static_cast<std::ptrdiff_t>(type) + 1, words.end());
  return entry;
}

DataType TypeNamed(const std::string& name) {
  std::string names;
  for (const DataType type : kDataTypes) {
    if (name == ToString(type)) return type;
    names += StrCat(ToString(type), ", ");
  }
  const bool is_time =
      name.find("time") != std::string::npos || name.find("date") != std::string::npos;
  Throw(ErrorCode::kInvalidArgument, "'", Escaped(name), "' is no type; it is one of ", names,
        "each with its dims after it ([] for a scalar), or for text str, for a list of texts "
        "str[-1], and bytes, bytes[-1] for what is not UTF-8",
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
  const size_t open = text.find('[');
  const std::string type = text.substr(0, open);
  field->bytes = IsBytes(type);
  field->slot.text = type == kStr;
  field->slot.dtype = field->bytes ? DataType::kUint8 : TypeNamed(type);
  field->value_bytes_ = SizeOf(field->slot.dtype);
  if (field->bytes && open == std::string::npos) {
    field->sequence = true;
    field->slot.dims = Dims{-1};
    field->slot.lod_level = 1;
    return;
  }
  Require(open != std::string::npos && text.back() == ']', "'", Escaped(text),
          "' has no dims; a scalar is ", ToString(field->slot.dtype), "[]");
  std::string dims = text.substr(open + 1, text.size() - open - 2);
  dims.erase(std::remove(dims.begin(), dims.end(), ' '), dims.end());
  while (dims == "-1" || dims.compare(0, 3, "-1,") == 0) {
    Require(++field->slot.lod_level < static_cast<int>(kMaxLodLevels), "'", Shown(text),
            "' has more levels than ", kMaxLodLevels);
    dims.erase(0, 3);
  }
  field->sequence = field->slot.lod_level > 0;
  field->slot.dims.push_back(field->sequence ? -1 : 1);
  if (field->bytes) {
    Require(field->sequence && dims.empty(), "'", Shown(text), "' is no type of ",
            type == kStr ? "texts" : "bytes", "; those are ", type, ", ", type, "[-1], ", type,
            "[-1, -1] ...");
    field->bytes_list = true;
    ++field->slot.lod_level;  // each of them is a sequence
    return;
  }
  while (!dims.empty()) {
    const size_t comma = dims.find(',');
    const auto dim = WholeNumber<int64_t>(dims.substr(0, comma), "the dim");
    Require(dim >= 1, "the dim ", dim, " is not positive; only the first may be -1, any number");
    field->slot.dims.push_back(dim);
    field->values = CheckedProduct(field->values, static_cast<size_t>(dim));
    dims.erase(0, comma == std::string::npos ? comma : comma + 1);
    Require(comma == std::string::npos || !dims.empty(), "a dim is missing after the last comma");
  }
  if (CheckedProduct(field->values, field->value_bytes()) > kMaxRecordBytes) {
    Throw(ErrorCode::kResourceLimit, "a tensor of more than ", kMaxRecordBytes, " bytes");
  }
}

double ParseScale(const std::string& text) {
  Field number;
  number.slot.dtype = DataType::kFp64;
  number.SetReaders();
  const size_t slash = text.find('/');
  double parts[] = {1, 1};
  for (size_t i = 0; i < (slash == std::string::npos ? 1 : 2); ++i) {
    const std::string part = i == 1 ? text.substr(slash + 1) : text.substr(0, slash);
    const char* const end = part.data() + part.size();
    const char* const read = number.Read(part.data(), end, reinterpret_cast<char*>(&parts[i]));
    Require(read == end && !part.empty() && std::isfinite(parts[i]), "scale=", Escaped(text),
            " is no number such as 0.5 or 1/255");
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

Field ParseField(const std::string& entry, Lists lists) {
  static const std::vector<std::string> kOptions = {"default", "missing", "null",    "base",
                                                    "hash",    "vocab",   "scale",   "decode",
                                                    "unit",    "format",  "numbers", "separator"};
  Field field;
  const auto [head, options] = CutEntry(entry);
  Require(!head.type.empty(),
          "it has no type: an entry is \"name dtype[dims] option=value ...\", such as \"label "
          "int64[]\"; a scalar "
          "is int64[] or float32[], text is str");
  field.name = head.name;
  ParseType(head.type, &field);
  Require(lists == Lists::kOfLists || field.slot.lod_level <= (field.bytes ? 2 : 1), "'",
          Shown(head.type), "' is lists of lists, which only columns of Parquet and Arrow are");
  std::string default_text;
  std::set<std::string> given;
  for (const std::string& word : options) {
    const size_t equal = word.find('=');
    const std::string option = word.substr(0, equal);
    const std::string text = equal == std::string::npos ? std::string() : word.substr(equal + 1);
    Require(equal != std::string::npos, "'", Escaped(word),
            "' is no option=value; a value with spaces in it stands in quotes");
    Require(given.insert(option).second, Escaped(option), "= is given twice",
            option == "null" ? "; null=NA,NULL names several texts" : "");
    const bool is_integer = !IsFloat(field.slot.dtype) && field.slot.dtype != DataType::kBool;
    if (option == "default") {
      default_text = text;
      field.has_default = true;
    } else if (option == "missing") {
      OneOf<Field::Missing>(option, text,
                            {{"error", Field::Missing::kError},
                             {"default", Field::Missing::kDefault},
                             {kMask, Field::Missing::kDefault},
                             {"skip", Field::Missing::kSkip}},
                            &field.missing);
      field.mask = text == kMask;
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
      Require(!field.bytes || (field.decode == Field::Decode::kJson && !field.bytes_list),
              "decode= is for numbers; text and bytes stay as they are, but for str decode=json: a "
              "value of JSON as its text");
      Require(field.decode != Field::Decode::kTimestamp || field.slot.dtype == DataType::kInt64,
              "decode=timestamp is for int64: seconds since 1970-01-01 UTC, or what unit= says");
    } else if (option == "unit") {
      OneOf<int64_t>(option, text,
                     {{"d", 1},
                      {"s", kSecondsPerDay},
                      {"ms", kSecondsPerDay * 1'000},
                      {"us", kSecondsPerDay * 1'000'000},
                      {"ns", kSecondsPerDay * 1'000'000'000}},
                     &field.ticks_per_day);
    } else if (option == "numbers") {
      OneOf<bool>(option, text, {{kExactNumbers, true}, {"nearest", false}}, &field.exact);
      field.has_numbers = true;
    } else if (option == "format" && field.slot.dtype == DataType::kBool) {
      OneOf<Field::Words>(option, text,
                          {{"true/false", Field::Words::kTrueFalse},
                           {"yes/no", Field::Words::kYesNo},
                           {"t/f", Field::Words::kTF},
                           {"y/n", Field::Words::kYN}},
                          &field.words);
    } else if (option == "format") {
      CheckTimeFormat(text);
      field.time_format = text;
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
  Require(is_time || given.count("unit") == 0, "unit= is for decode=timestamp");
  Require(is_time || field.time_format.empty(), "format= is for decode=timestamp and bool");
  if (field.has_default) {
    Require(given.count("missing") == 0 || field.missing == Field::Missing::kDefault,
            "default= is not used with another missing= than default and mask");
    field.missing = Field::Missing::kDefault;
    Field plain = field;  // the default is a number, also of a field that names things
    plain.buckets = 0;
    plain.vocabulary = nullptr;
    plain.nulls.clear();
    plain.decode = Field::Decode::kNone;
    plain.scale = 1;
    plain.base = 10;
    plain.exact = false;
    plain.words = Field::Words::kAny;
    plain.SetReaders();
    plain.ReadAll(default_text, field.default_value_);
  }
  field.SetReaders();
  KeepNullsFromNumbers(&field);
  return field;
}

}  // namespace

EntryHead HeadOf(const std::string& entry) { return CutEntry(entry).head; }

std::string NameInEntry(const std::string& name) {
  const bool plain = name.find_first_of(" \t\n\r[]\"") == std::string::npos;
  if (plain && !name.empty() && name != "=") return name;
  std::string quoted;
  for (const char c : name) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return StrCat('"', quoted, '"');
}

std::vector<Field> ParseFields(const std::vector<std::string>& entries, Lists lists) {
  if (entries.size() > kMaxSlots) {
    Throw(ErrorCode::kResourceLimit, entries.size(), " fields; the limit is ", kMaxSlots);
  }
  std::vector<Field> fields;
  for (size_t i = 0; i < entries.size(); ++i) {
    try {
      fields.push_back(ParseField(entries[i], lists));
    } catch (const Error& error) {
      if (!error.file().empty()) throw;
      throw Error(error.code() == ErrorCode::kDataLoss ? ErrorCode::kInvalidArgument : error.code(),
                  StrCat("fields[", i, "], '", Shown(entries[i]), "': ", error.message()));
    }
  }
  return fields;
}

std::string AdviceToRename(const std::string& name) {
  return StrCat("rename that one, as in fields: [\"*\", ",
                QuotedEntry(StrCat("other = ", NameInEntry(name))), "]");
}

std::vector<std::string> NamesOf(const std::vector<std::string>& entries) {
  const std::string mask_option = StrCat("missing=", kMask);
  std::vector<std::string> names, masked;
  for (const std::string& text : entries) {
    const auto [head, options] = CutEntry(text);
    names.push_back(head.slot);
    if (std::find(options.begin(), options.end(), mask_option) != options.end()) {
      masked.push_back(head.slot);
    }
  }
  const std::set<std::string> fields(names.begin(), names.end());
  for (const std::string& name : masked) {
    std::string mask = StrCat(name, kMaskEnd);
    Require(fields.count(mask) == 0, "the mask of '", Escaped(name), "', which says where it has ",
            "a value (missing=mask), is called '", Escaped(mask), "', and so is another field; ",
            AdviceToRename(mask));
    names.push_back(std::move(mask));
  }
  return names;
}

std::vector<Field> RequiredFields(const AttributeMap& attributes, Lists lists) {
  std::vector<Field> fields =
      ParseFields(attributes.Get<std::vector<std::string>>("fields"), lists);
  if (fields.empty()) {
    throw MissingSlots::ErrorOf(
        "this format needs the attribute fields, such as fields: \"label int64[]\"; "
        "`millhopper-peek FILE` prints some that fit a file",
        {"label int64[]"});
  }
  if (attributes.Has(kNumbers) && attributes.Get<std::string>(kNumbers) == kExactNumbers) {
    for (Field& field : fields) {
      if (field.has_numbers) continue;
      field.exact = true;
      field.SetReaders();
      KeepNullsFromNumbers(&field);
    }
  }
  return fields;
}

void RefuseCellOptions(const Field& field) {
  Require(field.separator == 0, "field '", Escaped(field.name),
          "': separator= is for the cells of csv and tsv");
  Require(field.nulls.empty(), "field '", Escaped(field.name),
          "': null= is for the texts of csv, tsv and jsonl");
}

const SlotSpec kMaskSlot{DataType::kBool, Dims{1}};

std::vector<SlotSpec> SlotsOf(const std::vector<Field>& fields) {
  std::vector<SlotSpec> slots;
  slots.reserve(fields.size());
  for (const Field& field : fields) slots.push_back(field.slot);
  for (const Field& field : fields) {
    if (field.mask) slots.push_back(kMaskSlot);
  }
  return slots;
}

std::string Field::Declared() const {
  if (!bytes) return ToString(slot);
  std::string dims;
  for (int level = 1; level < slot.lod_level; ++level) dims += dims.empty() ? "[-1" : ", -1";
  return StrCat(slot.text ? kStr : "bytes", dims, dims.empty() ? "" : "]");
}

std::string QuotedEntry(const std::string& entry) {
  const char quote = entry.find('"') == std::string::npos ? '"' : '\'';
  std::string text;
  for (const char c : entry) {
    if (c == '\\' || c == quote) text.push_back('\\');
    text.push_back(c);
  }
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

AttributeSchema OthersAttribute() {
  return std::move(
      AttributeSchema("others", std::string(),
                      "what to do about something that no field names: ignore it, or "
                      "error; \"\" is error if all fields are inferred, and else ignore")
          .OneOf({"", "ignore", "error"}));
}

Others OthersOf(const AttributeMap& attributes) {
  constexpr char kName[] = "others";
  const bool refuses = attributes.Has(kName) && attributes.Get<std::string>(kName) == "error";
  return refuses ? Others::kError : Others::kIgnore;
}

const char kInferAll[] = "; without types, infer \"all\" finds those that read all records";

const char kNumbers[] = "numbers";
const char kExactNumbers[] = "exact";

AttributeSchema NumbersAttribute() {
  return std::move(
      AttributeSchema(kNumbers, std::string(),
                      "what to do about a number that its type does not give back as it is, such "
                      "as 007, or digits that a float64 rounds, and about another word or kind "
                      "of value that stands for one: exact is an error, nearest the "
                      "nearest value; \"\" is exact for fields that are inferred, and else "
                      "nearest")
          .OneOf({"", kExactNumbers, "nearest"}));
}

const char kOthersIgnored[] = "others \"ignore\" leaves out what no field names";

std::string WithNearestNumbers(const std::string& entry) {
  const auto [head, options] = CutEntry(entry);
  const bool has_numbers =
      std::any_of(options.begin(), options.end(),
                  [](const std::string& option) { return option.compare(0, 8, "numbers=") == 0; });
  if (head.type.empty() || IsBytes(head.type) || has_numbers) return entry;
  return entry + " numbers=nearest";
}

void RefuseOther(const std::string& what, const std::string& entry, const char* more) {
  Throw(ErrorCode::kDataLoss, what, ", which no field names: ",
        entry.empty() ? "" : StrCat("add the field ", QuotedEntry(entry), ", or "), kOthersIgnored,
        more);
}

AttributeSchema FieldsAttribute(const std::string& names) {
  return AttributeSchema(
      "fields", std::vector<std::string>{},
      "the slots, each \"name dtype[dims] option=value ...\"; the names are " + names +
          ". dims: [] a scalar, [28, 28] a tensor, [-1] a sequence; str in place of both: text in "
          "UTF-8, str[-1] a list of such, bytes and bytes[-1] what is as it is. Options: default=, "
          "missing=error|default|mask|skip "
          "(of records, and of files, that do not have it; mask is the default and one more slot, "
          "bool, after those of all fields: name.valid), base=16, hash=BUCKETS (XXH64 "
          "with seed 0, modulo BUCKETS), vocab=FILE (line numbers from 0 on), scale=1/255, "
          "decode=text|timestamp|json, unit=d|s|ms|us|ns of a timestamp, format=\"%d.%m.%Y %H:%M\" "
          "if it is written so, in the terms of strptime, or format=yes/no of bool, "
          "numbers=exact|nearest (as the attribute numbers), null=NULL,NA (texts that are no "
          "value), "
          "separator=CHARACTER (between several values in a cell)");
}

}  // namespace millhopper
