// SPDX-License-Identifier: Apache-2.0
// Compares the slots and attributes of an operator with its schema.
#include "framework/program/operator_check.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/spelling.h"

namespace millhopper {
namespace {

// Paddle saves these with every operator. They have no meaning here.
bool IsLineageAttribute(const std::string& name) {
  static const std::set<std::string> names = {"op_role",      "op_role_var", "op_namescope",
                                              "op_callstack", "op_device",   "with_quant_attr"};
  return names.count(name) > 0;
}

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

template <typename Schemas>
std::vector<std::string> NamesOf(const Schemas& schemas) {
  std::vector<std::string> names;
  names.reserve(schemas.size());
  for (const auto& schema : schemas) names.push_back(schema.name);
  return names;
}

template <typename Parameters>
void CheckSide(const std::vector<ParameterSchema>& schemas, const Parameters& given,
               const proto::OpDesc& op, bool input, const ReportPart& report) {
  const std::string side = input ? "input '" : "output '";
  const OperatorPart::Kind kind = input ? OperatorPart::kInput : OperatorPart::kOutput;
  const std::vector<std::string> names = NamesOf(schemas);
  std::set<std::string> seen;
  std::set<std::string> meant;  // suggested for misspelt names: not reported as missing too
  for (int i = 0; i < given.size(); ++i) {
    const std::string& name = given.Get(i).parameter();
    const OperatorPart part{kind, i};
    if (!Contains(names, name)) {
      const std::string nearest = NearestWord(name, names);
      report(part, StrCat("no ", side, Escaped(name), "'", DidYouMean(nearest)));
      meant.insert(nearest);
    } else if (!seen.insert(name).second) {
      report(part, StrCat(side, name, "' is given twice"));
    }
  }
  for (const ParameterSchema& schema : schemas) {
    OperatorPart part;
    const size_t count = ArgumentsOf(schema, input, op, &part).size();
    if (count == 0 && !schema.optional && meant.count(schema.name) == 0) {
      report(part, StrCat(side, schema.name, "' is missing (", schema.doc, ")"));
    } else if (count > 1 && !schema.list) {
      report(part, StrCat(side, schema.name, "' has ", count, " arguments; it takes one"));
    }
  }
}

}  // namespace

bool IsPersistable(const proto::VarDesc& variable) {
  return variable.persistable() || variable.type().type() == proto::VarType::READER;
}

bool IsIsolated(const OpSchema& schema, const std::string& name) {
  return Contains(schema.isolated_blocks, name);
}

bool IsLoop(const OpSchema& schema, const std::string& name) {
  return Contains(schema.loop_blocks, name);
}

std::string NearestOperator(const std::string& type) {
  const std::vector<std::string> types = OperatorTypes();
  std::string nearest = NearestWord(type, types);
  if (!nearest.empty()) return nearest;
  // "suffle" is near enough to the middle of "create_shuffle_reader".
  constexpr std::string_view kBegin = "create_", kEnd = "_reader";
  std::map<std::string, std::string> by_middle;
  std::vector<std::string> middles;
  for (const std::string& whole : types) {
    if (whole.rfind(kBegin, 0) != 0) continue;
    std::string middle = whole.substr(kBegin.size());
    if (middle.size() > kEnd.size() &&
        middle.compare(middle.size() - kEnd.size(), kEnd.size(), kEnd) == 0) {
      middle.resize(middle.size() - kEnd.size());
    }
    middles.push_back(middle);
    by_middle.emplace(middle, whole);
  }
  const std::string found = NearestWord(type, middles);
  return found.empty() ? "" : by_middle.at(found);
}

std::string NoSuchOperator(const std::string& type) {
  return "no such operator" + DidYouMean(NearestOperator(type));
}

void CheckInputsAndOutputs(const OpSchema& schema, const proto::OpDesc& op,
                           const ReportPart& report) {
  CheckSide(schema.inputs, op.inputs(), op, true, report);
  CheckSide(schema.outputs, op.outputs(), op, false, report);
}

std::vector<std::string> ArgumentsOf(const ParameterSchema& parameter, bool input,
                                     const proto::OpDesc& op, OperatorPart* part) {
  const auto& given = input ? op.inputs() : op.outputs();
  for (int i = 0; i < given.size(); ++i) {
    if (given.Get(i).parameter() != parameter.name) continue;
    if (part != nullptr) *part = {input ? OperatorPart::kInput : OperatorPart::kOutput, i};
    std::vector<std::string> arguments(given.Get(i).arguments().begin(),
                                       given.Get(i).arguments().end());
    if (!parameter.list && arguments == std::vector<std::string>{kEmptyArgument}) arguments.clear();
    return arguments;
  }
  return {};
}

std::string CurrentProblem() {
  const Error error = CurrentError();
  if (error.interrupts()) throw;
  return error.message();
}

std::vector<AttributeSchema> AttributeSchemasOf(const OpSchema& schema, const proto::OpDesc& op) {
  std::vector<AttributeSchema> schemas = schema.attributes;
  if (schema.more_attributes) {
    std::vector<AttributeSchema> more = schema.more_attributes(op);
    std::move(more.begin(), more.end(), std::back_inserter(schemas));
  }
  return schemas;
}

AttributeMap CheckAttributes(const OpSchema& schema, const proto::OpDesc& op,
                             const ReportPart& report) {
  std::vector<AttributeSchema> more;
  try {
    if (schema.more_attributes) more = schema.more_attributes(op);
  } catch (...) {
    report({}, CurrentProblem());
    return {};
  }
  const auto has = [&](const std::string& name) {
    const auto is_it = [&name](const AttributeSchema& one) { return one.name == name; };
    return std::any_of(schema.attributes.begin(), schema.attributes.end(), is_it) ||
           std::any_of(more.begin(), more.end(), is_it);
  };
  std::map<std::string, int> given;
  std::set<std::string> meant;  // suggested for misspelt names: not reported as missing too
  for (int i = 0; i < op.attrs_size(); ++i) {
    const std::string& name = op.attrs(i).name();
    const OperatorPart part{OperatorPart::kAttribute, i};
    if (!given.emplace(name, i).second) {
      report(part, StrCat("attribute '", Escaped(name), "' is given twice"));
    } else if (!has(name) && !IsLineageAttribute(name)) {
      const std::string nearest = NearestWord(name, NamesOf(AttributeSchemasOf(schema, op)));
      report(part, StrCat("no attribute '", Escaped(name), "'", DidYouMean(nearest)));
      meant.insert(nearest);
    }
  }
  AttributeMap attributes;
  const auto take = [&](const AttributeSchema& attribute) {
    const auto found = given.find(attribute.name);
    if (found == given.end()) {
      if (attribute.required && meant.count(attribute.name) > 0) return;
      if (attribute.required) {
        report({}, StrCat("attribute '", attribute.name, "' is missing (", attribute.doc, ")"));
      } else {
        attributes.Set(attribute.name, attribute.default_value);
      }
      return;
    }
    try {
      attributes.Set(attribute.name, attribute.Check(FromProto(op.attrs(found->second))));
    } catch (const Error& error) {
      report({OperatorPart::kAttribute, found->second}, error.message());
    }
  };
  for (const AttributeSchema& attribute : schema.attributes) take(attribute);
  for (const AttributeSchema& attribute : more) take(attribute);
  return attributes;
}

}  // namespace millhopper
