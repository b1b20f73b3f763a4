// SPDX-License-Identifier: Apache-2.0
// Variables and scopes.
#include "framework/program/scope.h"

#include <cxxabi.h>

#include <cstdlib>

namespace millhopper {
namespace {

std::string Readable(const std::type_info& type) {
  int status = 0;
  char* name = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  std::string text = name == nullptr ? type.name() : name;
  std::free(name);
  const std::string space = "millhopper::";
  return text.compare(0, space.size(), space) == 0 ? text.substr(space.size()) : text;
}

}  // namespace

void Variable::Drop() {
  other_.reset();
  type_ = nullptr;
  holds_tensor_ = false;
}

std::string Variable::TypeName() const { return type_ == nullptr ? "LoDTensor" : Readable(*type_); }

void Variable::ThrowNotHeld(const std::type_info& wanted) const {
  Require(has_value(), "variable '", name_, "' has no value yet: nothing has written to it");
  Throw(ErrorCode::kInvalidArgument, "variable '", name_, "' holds a ", TypeName(), ", not a ",
        Readable(wanted));
}

Variable* Scope::Var(const std::string& name) {
  std::shared_ptr<Variable>& variable = variables_[name];
  if (variable == nullptr) variable = std::make_shared<Variable>(name);
  return variable.get();
}

Variable* Scope::Find(const std::string& name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_) {
    if (Variable* variable = scope->FindLocal(name)) return variable;
  }
  return nullptr;
}

Variable* Scope::FindLocal(const std::string& name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() ? nullptr : found->second.get();
}

std::vector<std::string> Scope::LocalNames() const {
  std::vector<std::string> names;
  for (const auto& entry : variables_) names.push_back(entry.first);
  return names;
}

void Scope::ResetVariables() {
  for (const auto& entry : variables_) entry.second->Reset();
}

}  // namespace millhopper
