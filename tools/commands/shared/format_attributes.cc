// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/shared/format_attributes.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <variant>

#include "framework/base/error.h"
#include "framework/base/spelling.h"
#include "framework/program/declarations.h"

namespace millhopper {
namespace {

const AttributeSchema& SchemaOf(const FormatSchema& format, const std::string& name) {
  std::vector<std::string> names;
  for (const AttributeSchema& schema : format.attributes) {
    if (schema.name == name) return schema;
    names.push_back(schema.name);
  }
  Throw(ErrorCode::kInvalidArgument, "the format ", format.tag, " has no attribute '",
        Escaped(name), "'", DidYouMean(name, names), " (executor --list_formats ", format.tag, ")");
}

int32_t NumberOf(const std::string& text) {
  int32_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  Require(read.ec == std::errc() && read.ptr == text.data() + text.size(), "'", Escaped(text),
          "' is no ", AttributeTypeName(number));
  return number;
}

// The text as a value of the type of `like`, a list after those that it has.
Attribute ValueOf(const Attribute& like, const std::string& text) {
  return std::visit(
      [&](const auto& value) -> Attribute {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::string>) {
          return text == "\\t" ? std::string("\t") : text;
        } else if constexpr (std::is_same_v<T, int32_t>) {
          return NumberOf(text);
        } else if constexpr (std::is_same_v<T, bool>) {
          Require(text == "true" || text == "false", "'", Escaped(text), "' is not true or false");
          return text == "true";
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          T list = value;
          list.push_back(text);
          return list;
        } else {
          Throw(ErrorCode::kInvalidArgument,
                "it is no text, int, bool or list of texts, so that only programs can have it");
        }
      },
      like);
}

}  // namespace

AttributeMap AttributesOfFlags(const FormatSchema& format, const std::vector<std::string>& texts) {
  AttributeMap attributes;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    try {
      Require(equals != std::string::npos && equals > 0,
              "an attribute is NAME=VALUE, such as delimiter=';'");
      const AttributeSchema& schema = SchemaOf(format, text.substr(0, equals));
      const bool repeated = attributes.Has(schema.name);
      const Attribute& before =
          repeated ? attributes.values().at(schema.name) : schema.default_value;
      attributes.Set(schema.name, schema.Check(ValueOf(before, text.substr(equals + 1))));
    } catch (const Error& error) {
      throw error.WithMessage(StrCat("--attribute=", Escaped(text), ": ", error.message()));
    }
  }
  return attributes;
}

void SetAttributes(const AttributeMap& attributes, proto::OpDesc* op) {
  for (const auto& [name, value] : attributes.values()) ToProto(name, value, op->add_attrs());
}

}  // namespace millhopper
