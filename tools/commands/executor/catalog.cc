// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/executor/catalog.h"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "framework/base/error.h"
#include "framework/base/spelling.h"
#include "framework/program/operator.h"
#include "framework/program/operator_check.h"
#include "framework/reader/file_format.h"
#include "tools/commands/shared/json_line.h"

namespace millhopper {
namespace {

// The first sentence, cut off if it is too long for a line.
std::string Summary(const std::string& text) {
  constexpr size_t kLongest = 90;
  const std::string sentence = text.substr(0, std::min(text.find(". "), text.find(".\n")));
  return sentence.size() <= kLongest ? sentence : sentence.substr(0, kLongest) + "...";
}

void DescribeParameters(const std::string& direction,
                        const std::vector<ParameterSchema>& parameters) {
  for (const ParameterSchema& parameter : parameters) {
    std::cout << "  " << direction << " " << parameter.name;
    if (parameter.list) std::cout << (parameter.optional ? ", any number" : ", one or more");
    if (parameter.optional && !parameter.list) std::cout << ", optional";
    if (parameter.kind == VariableKind::kReader) std::cout << ", a reader";
    std::cout << "\n      " << parameter.doc << "\n";
  }
}

void DescribeAttributes(const std::vector<AttributeSchema>& attributes) {
  for (const AttributeSchema& attribute : attributes) {
    std::cout << "  attribute " << attribute.name << ", "
              << AttributeTypeName(attribute.default_value);
    if (attribute.required) {
      std::cout << ", required";
    } else if (attribute.optional) {
      std::cout << ", optional";
    } else {
      std::cout << ", default " << ToString(attribute.default_value);
    }
    if (attribute.lowest) std::cout << ", at least " << *attribute.lowest;
    for (size_t i = 0; i < attribute.words.size(); ++i) {
      std::cout << (i == 0 ? ", one of '" : "', '") << attribute.words[i];
    }
    if (!attribute.words.empty()) std::cout << "'";
    if (!attribute.python_name.empty()) std::cout << ", in Python " << attribute.python_name;
    std::cout << "\n      " << attribute.doc << "\n";
  }
}

const OpSchema& SchemaOf(const std::string& type) {
  const OperatorDef* op = FindOperator(type);
  Require(op != nullptr, "no operator '", type, "'", DidYouMean(NearestOperator(type)),
          " (--list_ops lists all)");
  return op->schema;
}

const FormatSchema& FormatTagged(const std::string& tag) {
  const FormatSchema* const schema = FindFileFormat(tag);
  Require(schema != nullptr, "no format '", tag, "'", DidYouMean(tag, FileFormatTags()),
          " (--list_formats lists all)");
  return *schema;
}

void DescribeOperator(const std::string& type) {
  const OpSchema& schema = SchemaOf(type);
  std::cout << type << ": " << schema.doc << "\n";
  if (schema.creates_reader) std::cout << "  creates a reader, so it belongs to startup programs\n";
  DescribeParameters("input", schema.inputs);
  DescribeParameters("output", schema.outputs);
  DescribeAttributes(schema.attributes);
  if (schema.more_attributes) {
    std::cout << "  more attributes depend on the values of these (--list_formats)\n";
  }
}

nlohmann::json ToJson(const std::vector<ParameterSchema>& parameters) {
  nlohmann::json json = nlohmann::json::array();
  for (const ParameterSchema& parameter : parameters) {
    json.push_back({{"name", parameter.name},
                    {"list", parameter.list},
                    {"optional", parameter.optional},
                    {"reader", parameter.kind == VariableKind::kReader},
                    {"doc", parameter.doc}});
  }
  return json;
}

nlohmann::json ToJson(const std::vector<AttributeSchema>& attributes) {
  nlohmann::json json = nlohmann::json::array();
  for (const AttributeSchema& attribute : attributes) {
    nlohmann::json one = {{"name", attribute.name},
                          {"type", AttributeTypeName(attribute.default_value)},
                          {"required", attribute.required},
                          {"optional", attribute.optional},
                          {"numbers_slots", attribute.numbers_slots},
                          {"python_name", attribute.python_name},
                          {"doc", attribute.doc}};
    if (!attribute.required && !attribute.optional) {
      one["default"] = ToString(attribute.default_value);
    }
    if (attribute.lowest) one["lowest"] = *attribute.lowest;
    if (!attribute.words.empty()) one["words"] = attribute.words;
    json.push_back(std::move(one));
  }
  return json;
}

}  // namespace

void ListOperatorsAsJson(const std::vector<std::string>& types) {
  for (const std::string& type : types.empty() ? OperatorTypes() : types) {
    const OpSchema& schema = SchemaOf(type);
    const nlohmann::json json = {{"type", type},
                                 {"doc", schema.doc},
                                 {"creates_reader", schema.creates_reader},
                                 {"fed_by_process", schema.fed_by_process},
                                 {"adds_slots", schema.adds_slots != nullptr},
                                 {"more_attributes", schema.more_attributes != nullptr},
                                 {"inputs", ToJson(schema.inputs)},
                                 {"outputs", ToJson(schema.outputs)},
                                 {"attributes", ToJson(schema.attributes)}};
    PrintJsonLine(json);
  }
}

void ListOperators(const std::vector<std::string>& types) {
  for (size_t i = 0; i < types.size(); ++i) {
    if (i > 0) std::cout << "\n";
    DescribeOperator(types[i]);
  }
  if (!types.empty()) return;
  size_t width = 0;
  for (const std::string& type : OperatorTypes()) width = std::max(width, type.size());
  for (const std::string& type : OperatorTypes()) {
    std::cout << type << std::string(width - type.size(), ' ') << "  "
              << Summary(FindOperator(type)->schema.doc) << "\n";
  }
}

void ListFormats(const std::vector<std::string>& tags) {
  for (const std::string& tag : tags.empty() ? FileFormatTags() : tags) {
    const FormatSchema& schema = FormatTagged(tag);
    std::cout << tag << ": " << schema.doc << "\n";
    std::cout << "  created by create_" << tag << "_file_reader, or by open_files as '" << tag
              << (schema.reads_folders ? ":FOLDER'" : ":FILE'");
    for (const std::string& extension : schema.extensions) std::cout << ", '*" << extension << "'";
    if (schema.matches != nullptr) std::cout << ", or known by its first bytes";
    std::cout << "\n";
    if (!schema.companion_name.empty()) {
      std::cout << "  attribute " << schema.companion_name << " (in open_files "
                << schema.companion_list_name << ")\n      " << schema.companion_doc << "\n";
    }
    DescribeAttributes(schema.attributes);
  }
}

void ListFormatsAsJson(const std::vector<std::string>& tags) {
  for (const std::string& tag : tags.empty() ? FileFormatTags() : tags) {
    const FormatSchema& schema = FormatTagged(tag);
    nlohmann::json json = {{"tag", tag},
                           {"doc", schema.doc},
                           {"extensions", schema.extensions},
                           {"by_first_bytes", schema.matches != nullptr},
                           {"reads_folders", schema.reads_folders},
                           {"attributes", ToJson(schema.attributes)}};
    if (!schema.companion_name.empty()) {
      json["companion"] = {{"name", schema.companion_name},
                           {"list_name", schema.companion_list_name},
                           {"doc", schema.companion_doc}};
    }
    PrintJsonLine(json);
  }
}

}  // namespace millhopper
