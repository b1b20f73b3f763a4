// SPDX-License-Identifier: Apache-2.0
// The text of a program, its declarations, and the places of its parts.
#include "framework/program/program.h"

#include <google/protobuf/text_format.h>

#include "framework/base/error.h"
#include "framework/program/operator.h"

namespace millhopper {
namespace {

std::string Prefix(const std::string& name, const SourcePlace& place) {
  return StrCat(name, ":", place.line, ":", place.column, ": ");
}

template <typename T>
const T* At(const std::vector<T>& items, int i) {
  return i >= 0 && static_cast<size_t>(i) < items.size() ? &items[static_cast<size_t>(i)] : nullptr;
}

}  // namespace

std::string Program::ToText() const {
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseUtf8StringEscaping(true);
  std::string text;
  if (!printer.PrintToString(desc_, &text)) {
    Throw(ErrorCode::kInternal, name_, ": the program cannot be printed");
  }
  // A loader of this text would replace "${name}" even in a string, so "$" is written as an escape.
  std::string escaped;
  size_t done = 0;
  for (size_t at = text.find("${"); at != std::string::npos; at = text.find("${", done)) {
    escaped.append(text, done, at - done).append("\\044");
    done = at + 1;
  }
  return escaped.append(text, done);
}

std::string Program::ToBinary() const { return desc_.SerializePartialAsString(); }

const proto::VarDesc* Program::FindDeclaration(int block, const std::string& name) const {
  for (; block >= 0; block = desc_.blocks(block).parent_idx()) {
    const proto::VarDesc* const own = FindOwnDeclaration(block, name);
    if (own != nullptr) return own;
  }
  return nullptr;
}

const proto::VarDesc* Program::FindOwnDeclaration(int block, const std::string& name) const {
  const auto& own = declarations_.at(static_cast<size_t>(block));
  const auto found = own.find(name);
  return found == own.end() ? nullptr : found->second;
}

SourcePlace Program::OperatorPlace(int block, int op, const OperatorPart& part) const {
  const BlockPlaces* in_block = At(places_, block);
  const OperatorPlaces* places = in_block == nullptr ? nullptr : At(in_block->operators, op);
  if (places == nullptr) return {};
  if (part.kind == OperatorPart::kWhole) return places->self;
  if (part.kind == OperatorPart::kAttribute) {
    const SourcePlace* attribute = At(places->attributes, part.index);
    return attribute == nullptr ? places->self : *attribute;
  }
  const ParameterPlaces* parameter =
      At(part.kind == OperatorPart::kInput ? places->inputs : places->outputs, part.index);
  if (parameter == nullptr) return places->self;
  const SourcePlace* argument = At(parameter->arguments, part.argument);
  return argument == nullptr ? parameter->self : *argument;
}

std::string Program::OperatorLocation(int block, int op) const {
  const SourcePlace place = OperatorPlace(block, op);
  if (place.line > 0) return StrCat(name_, ":", place.line);
  return StrCat(name_, ": operator ", op, " of block ", block);
}

Problem Program::OperatorProblem(int block, int op, const OperatorPart& part,
                                 const std::string& text) const {
  const std::string& type = desc_.blocks(block).ops(op).type();
  const SourcePlace place = OperatorPlace(block, op, part);
  if (place.line > 0) {
    return {place, StrCat(Prefix(name_, place), "operator '", Escaped(type), "': ", text)};
  }
  return {place, StrCat(OperatorLocation(block, op), " ('", Escaped(type), "'): ", text)};
}

Problem Program::VariableProblem(int block, int variable, const std::string& text) const {
  const std::string name = Escaped(desc_.blocks(block).vars(variable).name());
  const BlockPlaces* in_block = At(places_, block);
  const SourcePlace* place = in_block == nullptr ? nullptr : At(in_block->variables, variable);
  if (place != nullptr) {
    return {*place, StrCat(Prefix(name_, *place), "variable '", name, "': ", text)};
  }
  return {{}, StrCat(name_, ": variable '", name, "' of block ", block, ": ", text)};
}

std::vector<Problem> Program::Warnings() const {
  std::vector<Problem> warnings;
  for (int block = 0; block < desc_.blocks_size(); ++block) {
    for (int op = 0; op < desc_.blocks(block).ops_size(); ++op) {
      const OperatorDef* const def = FindOperator(desc_.blocks(block).ops(op).type());
      if (def == nullptr || def->schema.warn == nullptr) continue;
      const std::string text = def->schema.warn(*this, block, op);
      if (!text.empty()) warnings.push_back(OperatorProblem(block, op, {}, text));
    }
  }
  return warnings;
}

void Program::CheckOrThrow(const CheckContext& context) const {
  std::vector<Problem> problems = Check(context);
  if (!problems.empty()) throw ProblemsOfProgram::ErrorOf(std::move(problems));
}

}  // namespace millhopper
