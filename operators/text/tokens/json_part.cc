// SPDX-License-Identifier: Apache-2.0
#include "operators/text/tokens/json_part.h"

#include <algorithm>

#include "readers/support/text_file.h"

namespace millhopper {

bool JsonPart::Has(std::string_view name) const {
  simdjson::dom::object object;
  if (element_.get(object) != simdjson::SUCCESS) Refuse("it is no object");
  simdjson::dom::element value;
  return object.at_key(name).get(value) == simdjson::SUCCESS && !value.is_null();
}

JsonPart JsonPart::Field(std::string_view name) const {
  simdjson::dom::object object;
  if (element_.get(object) != simdjson::SUCCESS) Refuse("it is no object");
  simdjson::dom::element value;
  if (object.at_key(name).get(value) != simdjson::SUCCESS) Refuse("it has no field '", name, "'");
  return {value, place_.empty() ? std::string(name) : StrCat(place_, ".", name)};
}

void JsonPart::OnlyFields(std::initializer_list<std::string_view> names) const {
  ForEachField([&](std::string_view name, const simdjson::dom::element&) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      Refuse("the field '", Shown(name), "' is not supported");
    }
  });
}

std::string_view JsonPart::AsString() const {
  std::string_view value;
  if (element_.get(value) != simdjson::SUCCESS) Refuse("it is no string");
  return value;
}

bool JsonPart::AsBool() const {
  bool value = false;
  if (element_.get(value) != simdjson::SUCCESS) Refuse("it is neither true nor false");
  return value;
}

int64_t JsonPart::AsInt(int64_t most) const {
  int64_t value = -1;
  if (element_.get(value) != simdjson::SUCCESS || value < 0 || value > most) {
    Refuse("it is no whole number from 0 to ", most);
  }
  return value;
}

double JsonPart::AsNumber() const {
  double value = 0;
  if (element_.get(value) != simdjson::SUCCESS) Refuse("it is no number");
  return value;
}

}  // namespace millhopper
