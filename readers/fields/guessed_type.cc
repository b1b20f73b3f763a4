// SPDX-License-Identifier: Apache-2.0
#include "readers/fields/guessed_type.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include "framework/base/error.h"

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

// Of text that is a number.
double NumberOf(const Field& float64, std::string_view text) {
  double number = 0;
  float64.Read(text.data(), text.data() + text.size(), reinterpret_cast<char*>(&number));
  return number;
}

// "int64", "uint64", "float32" or "float64"; empty if there are no texts, or not all are numbers.
std::string NumberType(const std::vector<std::string_view>& texts) {
  static const std::vector<Field> types = ParseFields({"n int64[]", "n uint64[]", "n float64[]"});
  for (const Field& type : types) {
    const auto fits = [&](std::string_view text) { return IsValueOf(type, text); };
    if (texts.empty() || !std::all_of(texts.begin(), texts.end(), fits)) continue;
    if (!IsFloat(type.slot.dtype)) return ToString(type.slot.dtype);
    const auto is_short = [&](std::string_view text) { return FitsFloat32(NumberOf(type, text)); };
    return std::all_of(texts.begin(), texts.end(), is_short) ? "float32" : "float64";
  }
  return "";
}

std::string TimestampType(const std::vector<std::string_view>& texts) {
  static const std::vector<std::string> types = {
      "int64[] decode=timestamp", "int64[] decode=timestamp unit=ms",
      "int64[] decode=timestamp unit=us", "int64[] decode=timestamp unit=ns"};
  for (const std::string& type : types) {
    const Field field = ParseFields({"t " + type}).front();
    const bool fits = std::all_of(texts.begin(), texts.end(),
                                  [&](std::string_view text) { return IsValueOf(field, text); });
    if (fits && !texts.empty()) return type;
  }
  return "";
}

std::vector<std::string_view> Parts(const std::vector<std::string_view>& cells, char separator) {
  std::vector<std::string_view> parts;
  for (const std::string_view cell : cells) {
    for (size_t begin = 0; begin <= cell.size();) {
      const size_t end = std::min(cell.find(separator, begin), cell.size());
      parts.push_back(cell.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return parts;
}

// Of cells with several values. Text often has spaces and semicolons in it, but seldom a bar
// without spaces around it.
std::string ListType(const std::vector<std::string_view>& cells) {
  for (const char separator : {'|', ';', ' '}) {
    const std::vector<std::string_view> parts = Parts(cells, separator);
    if (parts.size() == cells.size()) continue;
    const std::string option =
        separator == ' ' ? "" : StrCat(" separator=", std::string(1, separator));
    const std::string number = NumberType(parts);
    if (!number.empty()) return StrCat(number, "[-1]", option);
    const bool words = std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
      return !part.empty() && part.front() != ' ' && part.back() != ' ';
    });
    if (separator == '|' && words) return StrCat("bytes[-1]", option);
  }
  return "";
}

}  // namespace

bool FitsFloat32(double number) {
  if (std::isfinite(number) && std::abs(number) > std::numeric_limits<float>::max()) return false;
  char text[32];
  const char* const end = std::to_chars(text, text + sizeof(text), static_cast<float>(number)).ptr;
  double kept = 0;
  std::from_chars(text, end, kept);
  return kept == number || std::isnan(number);
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
  if (values.empty()) return "bytes";
  std::string type = NumberType(values);
  if (type.compare(0, 5, "float") == 0) {  // which has its own values for what is no number
    nulls.erase(std::remove_if(nulls.begin(), nulls.end(),
                               [](std::string_view null) { return !NumberType({null}).empty(); }),
                nulls.end());
  }
  type = !type.empty() ? type + "[]" : TimestampType(values);
  if (type.empty()) type = ListType(values);
  if (type.empty()) return "bytes";
  std::string null_option;
  for (const std::string_view null : nulls) {
    null_option += StrCat(null_option.empty() ? " null=" : ",", null);
  }
  type += null_option;
  const bool list = type.find("[-1]") != std::string::npos;
  return !nulls.empty() || (empty && !list) ? OrMissing(type) : type;
}

std::string OrMissing(const std::string& type) {
  // numpy's NaT
  if (type.find("decode=timestamp") != std::string::npos) {
    return type + " default=-9223372036854775808";
  }
  if (IsTextType(type) || type.find("[-1") != std::string::npos) return type + " missing=default";
  if (type.compare(0, 5, "float") == 0) return type + " default=nan";
  const size_t open = type.find('['), close = type.find(']');
  return StrCat(type.substr(0, open), "[-1]", type.substr(close + 1), " missing=default");
}

std::string GuessedTimestampType(const std::vector<std::string>& texts) {
  return TimestampType({texts.begin(), texts.end()});
}

std::string OptionForText(const Field& field, const std::string& text) {
  if (IsNullWord(text)) {
    return StrCat("; null=", text, " after the field says that it is no value");
  }
  const bool is_fraction = text.find('.') != std::string::npos && !NumberType({text}).empty();
  if (is_fraction && !IsFloat(field.slot.dtype) && !field.from_text()) {
    return "; float64[] reads it, and cast makes integers of that";
  }
  const bool is_plain =
      field.decode == Field::Decode::kNone && field.slot.dtype == DataType::kInt64;
  const std::string time = is_plain ? GuessedTimestampType({text}) : "";
  return time.empty() ? "" : StrCat("; ", time, " reads it");
}

bool IsTextType(const std::string& type) { return type.compare(0, 5, "bytes") == 0; }

}  // namespace millhopper
