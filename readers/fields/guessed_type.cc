// SPDX-License-Identifier: Apache-2.0
#include "readers/fields/guessed_type.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "framework/base/error.h"
#include "readers/fields/number_text.h"
#include "readers/fields/timestamp.h"

namespace millhopper {
namespace {

// What programs write where there is no value. Some are numbers, too: pandas writes "nan".
constexpr std::string_view kNulls[] = {"NULL", "null", "NA",  "N/A", "<NA>",
                                       "\\N",  "None", "NaN", "nan", "?"};

bool IsNullWord(std::string_view text) {
  return std::find(std::begin(kNulls), std::end(kNulls), text) != std::end(kNulls);
}

bool IsValueOf(const Field& field, std::string_view text) {
  char place[8];
  const char* const end = text.data() + text.size();
  return !text.empty() && field.Read(text.data(), end, place) == end;
}

bool KeepsDigitsAs(const Field& float64, std::string_view text) {
  double number = 0;
  float64.Read(text.data(), text.data() + text.size(), reinterpret_cast<char*>(&number));
  return KeepsDigits(text, number);
}

constexpr const char* kBoolTypes[] = {"bool[]", "bool[] format=yes/no", "bool[] format=t/f",
                                      "bool[] format=y/n"};

// The same, as fields that are inferred have them.
const std::vector<Field>& BoolTypes() {
  static const std::vector<Field> types = [] {
    std::vector<std::string> entries;
    for (const char* const type : kBoolTypes) {
      entries.push_back(StrCat("b ", type, " numbers=", kExactNumbers));
    }
    return ParseFields(entries);
  }();
  return types;
}

// The type if all texts are words for true and false, otherwise "". Words that may mean something
// else, such as Norway, count if both of them are there.
std::string BoolType(const std::vector<std::string_view>& texts) {
  for (size_t i = 0; i < BoolTypes().size(); ++i) {
    bool seen[2] = {false, false};
    const auto is_word = [&](std::string_view text) {
      char value = 0;
      const char* const end = text.data() + text.size();
      if (text.empty() || BoolTypes()[i].Read(text.data(), end, &value) != end) return false;
      seen[value == 0 ? 0 : 1] = true;
      return true;
    };
    const bool are_all = std::all_of(texts.begin(), texts.end(), is_word);
    if (are_all && (i == 0 || (seen[0] && seen[1]))) return kBoolTypes[i];
  }
  return "";
}

// The types of numbers, those that are tried first at the beginning.
const std::vector<Field>& NumberTypes() {
  static const std::vector<Field> types = ParseFields({"n int64[]", "n uint64[]", "n float64[]"});
  return types;
}

// Whether the type gives back a number as it is.
bool GivesBack(const Field& type, std::string_view text) {
  const std::string_view value = WithoutSpaces(text);
  return IsValueOf(type, value) && !HasLeadingZero(value) &&
         (!IsFloat(type.slot.dtype) || KeepsDigitsAs(type, value));
}

// "int64[]", "uint64[]", "float64[]", "bool[]" or "bool[] format=yes/no", whichever gives back all
// texts as they are; empty if none does.
std::string ValueType(const std::vector<std::string_view>& texts) {
  for (const Field& type : NumberTypes()) {
    const auto fits = [&](std::string_view text) { return GivesBack(type, text); };
    if (std::all_of(texts.begin(), texts.end(), fits)) {
      return StrCat(ToString(type.slot.dtype), "[]");
    }
  }
  return BoolType(texts);
}

// Forms of dates that are not ISO's.
const std::vector<std::string>& DateFormats() {
  static const std::vector<std::string> formats = [] {
    std::vector<std::string> all;
    for (const char* const day :
         {"%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%d %b %Y",
          "%d-%b-%Y", "%b %d, %Y", "%d %B %Y", "%B %d, %Y"}) {
      for (const char* const time : {"", " %H:%M", " %H:%M:%S"}) all.push_back(StrCat(day, time));
    }
    return all;
  }();
  return formats;
}

// The type of dates that are written in one of these forms; empty if none fits all texts, or if two
// fit and mean other days.
std::string FormattedTimestampType(const std::vector<std::string_view>& texts) {
  std::string type;
  std::vector<int64_t> days;
  for (const std::string& format : DateFormats()) {
    std::vector<int64_t> read(texts.size());
    size_t fit = 0;
    while (fit < texts.size() &&
           ParseTimestamp(texts[fit], format, kSecondsPerDay, &read[fit]) == nullptr) {
      ++fit;
    }
    if (fit < texts.size()) continue;
    if (type.empty()) {
      const bool has_time = format.find("%H") != std::string::npos;
      type = StrCat("int64[] decode=timestamp unit=", has_time ? "us" : "d", " format=\"", format,
                    "\"");
      days = std::move(read);
    } else if (read != days) {
      return "";
    }
  }
  return type;
}

// The types of dates and times, the coarsest first.
const std::vector<Field>& TimeTypes() {
  static const std::vector<Field> types =
      ParseFields({"t int64[] decode=timestamp unit=d", "t int64[] decode=timestamp unit=us",
                   "t int64[] decode=timestamp unit=ns"});
  return types;
}

const char* UnitOf(const Field& time) {
  return time.ticks_per_day == 1 ? "d" : time.ticks_per_day == kMicrosecondsPerDay ? "us" : "ns";
}

constexpr size_t kDateBytes = 10;  // of "2024-01-31"

// Whether the type reads a date or a time; in days, whether it is a date alone.
bool IsTime(const Field& type, std::string_view text) {
  return (type.ticks_per_day > 1 || text.size() == kDateBytes) && IsValueOf(type, text);
}

std::string TimestampType(const std::vector<std::string_view>& texts) {
  if (texts.empty()) return "";
  for (const Field& type : TimeTypes()) {
    const auto fits = [&](std::string_view text) { return IsTime(type, text); };
    if (std::all_of(texts.begin(), texts.end(), fits)) {
      return StrCat("int64[] decode=timestamp unit=", UnitOf(type));
    }
  }
  return FormattedTimestampType(texts);
}

// What KindOf says of a number of digits alone, with or without decimals: most are so, and it takes
// a tenth of the time. Empty for all others, and for so many digits that a type may not hold them.
const char* KindOfPlainNumber(std::string_view text) {
  if (text.size() > size_t{std::numeric_limits<double>::digits10} || HasLeadingZero(text))
    return "";
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto point = std::find_if_not(text.begin(), text.end(), is_digit);
  if (point == text.begin()) return "";
  if (point == text.end()) return "111";
  if (*point != '.' || point + 1 == text.end()) return "";
  return std::all_of(point + 1, text.end(), is_digit) ? "001" : "";
}

// What KindOf says of a date or a point in time in the forms of timestamp.h, which is parsed once,
// and not for each unit. Empty for all others.
const char* KindOfPlainTime(std::string_view text) {
  constexpr int64_t kNanosecondsPerDay = kMicrosecondsPerDay * 1000;
  int64_t ticks = 0;
  if (text.size() < kDateBytes || text[4] != '-' ||
      ParseTimestamp(text, "", kNanosecondsPerDay, &ticks) != nullptr) {
    return "";
  }
  if (text.size() == kDateBytes) return "000111";
  return ticks % 1000 == 0 ? "000011" : "000001";
}

// Which of the types that are tried read a text, such that texts of one kind decide alike. Empty
// for one that no type but that of texts reads.
std::string KindOf(std::string_view text) {
  for (const auto& of_most : {KindOfPlainNumber, KindOfPlainTime}) {
    if (const char* const kind = of_most(text); *kind != 0) return kind;
  }
  const auto is_word = [&](const Field& type) { return IsValueOf(type, text); };
  const bool is_number = text.find_first_of("+-.0123456789") == 0;  // or a date; it is no word
  if (!is_number && (text.empty() || IsNullWord(text) ||
                     std::any_of(BoolTypes().begin(), BoolTypes().end(), is_word))) {
    return StrCat("word ", text);
  }
  std::string kind;
  for (const Field& type : NumberTypes()) kind += GivesBack(type, text) ? "1" : "0";
  // No number is a date: years, months and days are told apart.
  if (kind.find('1') != std::string::npos) return kind;
  for (const Field& type : TimeTypes()) kind += IsTime(type, text) ? "1" : "0";
  if (kind.find('1') != std::string::npos) return kind;
  bool any = false;
  std::vector<int64_t> days;
  for (const std::string& format : DateFormats()) {
    int64_t day = 0;
    if (ParseTimestamp(text, format, kSecondsPerDay, &day) != nullptr) {
      kind += "-";
      continue;
    }
    // Two forms that read the same day decide otherwise than two that read others.
    any = true;
    const auto same = std::find(days.begin(), days.end(), day);
    kind += StrCat(same - days.begin());
    if (same == days.end()) days.push_back(day);
  }
  return any ? kind : "";
}

}  // namespace

void SeenTexts::Add(std::string_view text) {
  if (is_text_ && !text.empty()) return;
  std::string kind = KindOf(text);
  if (!kept_.empty() && kind == last_kind_) return;
  is_text_ = is_text_ || kind.empty();
  if (kinds_.insert(kind).second) kept_.emplace_back(text);
  last_kind_ = std::move(kind);
}

std::string GuessedCellType(const std::vector<std::string>& cells) {
  std::vector<std::string_view> values, nulls;
  bool empty = false;
  for (const std::string& cell : cells) {
    if (cell.empty()) {
      empty = true;
    } else if (!IsNullWord(cell)) {
      values.push_back(cell);
    } else if (std::find(nulls.begin(), nulls.end(), cell) == nulls.end()) {
      nulls.push_back(cell);
    }
  }
  if (values.empty()) return empty ? OrMissing(kTextType) : kTextType;
  std::string type = ValueType(values);
  if (type.compare(0, 5, "float") == 0) {  // which has its own values for what is no number
    nulls.erase(std::remove_if(nulls.begin(), nulls.end(),
                               [](std::string_view null) { return !ValueType({null}).empty(); }),
                nulls.end());
  }
  if (type.empty()) type = TimestampType(values);
  if (type.empty())
    return empty ? OrMissing(kTextType) : kTextType;  // null words are words among texts
  std::string null_option;
  for (const std::string_view null : nulls) {
    null_option += StrCat(null_option.empty() ? " null=" : ",", null);
  }
  type += null_option;
  return !nulls.empty() || empty ? OrMissing(type) : type;
}

std::string OrMissing(const std::string& type) {
  // numpy's NaT, also within a list; no comparison tells it from a number, so that a mask does.
  if (type.find("decode=timestamp") != std::string::npos) {
    return type + " default=-9223372036854775808 missing=mask";
  }
  const bool has_nan = type.compare(0, 5, "float") == 0 && type.find("[-1") == std::string::npos;
  return type + (has_nan ? " default=nan" : " missing=mask");
}

std::string GuessedTimestampType(const std::vector<std::string>& texts) {
  return TimestampType({texts.begin(), texts.end()});
}

std::string OptionForText(const Field& field, const std::string& text) {
  if (IsNullWord(text)) {
    return StrCat("; null=", text, " after the field says that it is no value", kInferAll);
  }
  if (field.names_things()) return "";
  std::string as_text = StrCat("; ", kTextType, " reads it", kInferAll);
  if (field.decode == Field::Decode::kTimestamp) {
    // What another unit reads, the error says already.
    const bool is_time = std::any_of(TimeTypes().begin(), TimeTypes().end(),
                                     [&](const Field& type) { return IsTime(type, text); });
    return is_time && field.time_format.empty() ? kInferAll : as_text;
  }
  if (field.slot.dtype == DataType::kBool) return as_text;
  const std::string type = ValueType({text});
  if (type == "float64[]" && !IsFloat(field.slot.dtype)) {
    return StrCat("; float64[] reads it, and cast makes integers of that", kInferAll);
  }
  const std::string other = type.empty() ? GuessedTimestampType({text}) : type;
  return StrCat("; ", other.empty() ? kTextType : other, " reads it", kInferAll);
}

std::string EntryFor(const std::string& name, const std::string& type) {
  return StrCat(NameInEntry(name), " ", type);
}

bool CanBeNamed(const std::string& name) {
  std::string printable = name;
  const auto is_control = [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; };
  std::replace_if(printable.begin(), printable.end(), is_control, ' ');
  std::replace(printable.begin(), printable.end(), '\\', ' ');
  return !name.empty() && name.find('\0') == std::string::npos && Escaped(printable) == printable;
}

bool IsTextType(const std::string& type) {
  return type.compare(0, 3, kTextType) == 0 || type.compare(0, 5, "bytes") == 0;
}

}  // namespace millhopper
