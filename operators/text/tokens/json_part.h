// SPDX-License-Identifier: Apache-2.0
// Parts of a JSON file, whose fields must be those that are expected.
#ifndef MILLHOPPER_OPERATORS_TEXT_TOKENS_JSON_PART_H_
#define MILLHOPPER_OPERATORS_TEXT_TOKENS_JSON_PART_H_

#include <simdjson.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "framework/base/error.h"

namespace millhopper {

// An object, array or value, and where it stands, for errors. It lives as long as its parser.
class JsonPart {
 public:
  JsonPart(simdjson::dom::element element, std::string place)
      : element_(element), place_(std::move(place)) {}

  const simdjson::dom::element& element() const { return element_; }
  const std::string& place() const { return place_; }

  template <typename... Parts>
  [[noreturn]] void Refuse(const Parts&... parts) const {
    throw Error(ErrorCode::kDataLoss, StrCat(place_.empty() ? "" : place_ + ": ", parts...));
  }

  bool is_null() const { return element_.is_null(); }
  // Whether an object has a field that is not null.
  bool Has(std::string_view name) const;
  // A field of an object.
  JsonPart Field(std::string_view name) const;
  // Calls visit(part) for each element of an array.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    simdjson::dom::array array;
    if (element_.get(array) != simdjson::SUCCESS) Refuse("it is no array");
    size_t i = 0;
    for (const simdjson::dom::element one : array)
      visit(JsonPart(one, StrCat(place_, "[", i++, "]")));
  }
  // Calls visit(name, part) for each field of an object.
  template <typename Visit>
  void ForEachField(const Visit& visit) const {
    simdjson::dom::object object;
    if (element_.get(object) != simdjson::SUCCESS) Refuse("it is no object");
    for (const auto& [name, value] : object) visit(name, value);
  }
  // Throws for an object with other fields than these; all may be missing.
  void OnlyFields(std::initializer_list<std::string_view> names) const;

  // The value itself, or that of a field.
  std::string_view AsString() const;
  bool AsBool() const;
  // From 0 up to `most`.
  int64_t AsInt(int64_t most) const;
  double AsNumber() const;
  std::string_view String(std::string_view name) const { return Field(name).AsString(); }
  std::string_view String(std::string_view name, std::string_view otherwise) const {
    return Has(name) ? String(name) : otherwise;
  }
  bool Bool(std::string_view name) const { return Field(name).AsBool(); }
  bool Bool(std::string_view name, bool otherwise) const {
    return Has(name) ? Bool(name) : otherwise;
  }

 private:
  simdjson::dom::element element_;
  std::string place_;  // such as "pre_tokenizer.pretokenizers[0]"
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_TEXT_TOKENS_JSON_PART_H_
