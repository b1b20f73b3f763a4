// SPDX-License-Identifier: Apache-2.0
// Attribute values and their checks.
#include "framework/base/attribute.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "framework/base/exact_text.h"
#include "framework/base/spelling.h"

namespace millhopper {
namespace {

template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {};

std::string Print(const std::string& value) { return "\"" + Escaped(value) + "\""; }
std::string Print(bool value) { return value ? "true" : "false"; }
std::string Print(BlockIndex value) { return StrCat("block ", value.value); }
template <typename T>
std::string Print(const T& value) {
  return StrCat(value);
}
template <typename T>
std::string Exact(const T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    return ExactText(value);
  } else {
    return Print(value);
  }
}

constexpr size_t kMostPrinted = 16;  // of the values of a list

// The first values of a list, each as `text_of` says it.
template <typename T, typename TextOf>
std::string List(const std::vector<T>& values, size_t most, TextOf text_of) {
  std::string text = "[";
  for (size_t i = 0; i < values.size() && i < most; ++i) {
    if (i > 0) text += ", ";
    text += text_of(static_cast<const T&>(values[i]));
  }
  if (values.size() > most) text += StrCat(", ... ", values.size(), " in all");
  return text + "]";
}
template <typename T>
std::string Print(const std::vector<T>& values) {
  return List(values, kMostPrinted, [](const T& value) { return Print(value); });
}
template <typename T>
std::string Exact(const std::vector<T>& values) {
  return List(values, values.size(), [](const T& value) { return Exact(value); });
}

void CheckLowest(const AttributeSchema& schema, double value) {
  Require(value >= *schema.lowest, "attribute '", schema.name, "' is ", value,
          "; it must be at least ", *schema.lowest);
}

}  // namespace

const char* AttributeTypeName(const Attribute& attribute) {
  static const char* const kNames[] = {"INT",     "FLOAT",   "STRING",   "INTS",    "FLOATS",
                                       "STRINGS", "BOOLEAN", "BOOLEANS", "BLOCK",   "LONG",
                                       "BLOCKS",  "LONGS",   "FLOAT64",  "FLOAT64S"};
  static_assert(std::variant_size_v<Attribute> == sizeof(kNames) / sizeof(kNames[0]));
  return kNames[attribute.index()];
}

std::string ToString(const Attribute& attribute) {
  return std::visit([](const auto& value) { return Print(value); }, attribute);
}

std::string WholeText(const Attribute& attribute) {
  return std::visit([](const auto& value) { return Exact(value); }, attribute);
}

AttributeSchema::AttributeSchema(std::string attribute_name, Attribute value, std::string text)
    : name(std::move(attribute_name)), default_value(std::move(value)), doc(std::move(text)) {}

AttributeSchema& AttributeSchema::Required() {
  required = true;
  return *this;
}

AttributeSchema& AttributeSchema::Optional() {
  optional = true;
  return *this;
}

AttributeSchema& AttributeSchema::AtLeast(double value) {
  lowest = value;
  return *this;
}

AttributeSchema& AttributeSchema::OneOf(std::vector<std::string> choices) {
  words = std::move(choices);
  return *this;
}

AttributeSchema& AttributeSchema::NamesRecords(std::string format) {
  names_records = true;
  record_format = std::move(format);
  return *this;
}

AttributeSchema& AttributeSchema::NamesFolders() {
  names_folders = true;
  return *this;
}

AttributeSchema& AttributeSchema::NumbersSlots() {
  numbers_slots = true;
  return AtLeast(0);
}

AttributeSchema& AttributeSchema::InPython(std::string other_name) {
  python_name = std::move(other_name);
  return *this;
}

Attribute AttributeSchema::Check(const Attribute& given) const {
  Attribute value = given;
  const auto* const one = std::get_if<int32_t>(&given);
  const auto* const ints = std::get_if<std::vector<int32_t>>(&given);
  if (std::holds_alternative<int64_t>(default_value) && one != nullptr) {
    value = int64_t{*one};
  } else if (std::holds_alternative<std::vector<int64_t>>(default_value)) {
    const auto* const one_long = std::get_if<int64_t>(&given);
    if (ints != nullptr) value = std::vector<int64_t>(ints->begin(), ints->end());
    if (one != nullptr) value = std::vector<int64_t>{*one};
    if (one_long != nullptr) value = std::vector<int64_t>{*one_long};
  }
  if (value.index() != default_value.index()) {
    Throw(ErrorCode::kInvalidArgument, "attribute '", name, "' is ", AttributeTypeName(given), " ",
          ToString(given), "; it must be ", AttributeTypeName(default_value));
  }
  if (lowest.has_value()) {
    std::visit(
        [this](const auto& v) {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_arithmetic_v<T>) {
            CheckLowest(*this, static_cast<double>(v));
          } else if constexpr (IsVector<T>::value) {
            if constexpr (std::is_arithmetic_v<typename T::value_type>) {
              for (const auto element : v) CheckLowest(*this, static_cast<double>(element));
            }
          }
        },
        value);
  }
  if (!words.empty()) {
    const std::string& word = std::get<std::string>(value);
    if (std::find(words.begin(), words.end(), word) == words.end()) {
      Throw(ErrorCode::kInvalidArgument, "attribute '", name, "' is ", ToString(value),
            "; it must be one of ", Print(words), DidYouMean(word, words));
    }
  }
  return value;
}

}  // namespace millhopper
