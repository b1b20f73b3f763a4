// SPDX-License-Identifier: Apache-2.0
// millrace._core.Scope and Variable.
#ifndef MILLRACE_PYTHON_CORE_SCOPE_H_
#define MILLRACE_PYTHON_CORE_SCOPE_H_

#include <pybind11/pybind11.h>

#include <memory>

#include "framework/scope.h"

namespace millrace {

// A scope that keeps the one around it. It goes without the interpreter, for readers in it wait for
// their workers, which may need it.
class PythonScope {
 public:
  explicit PythonScope(std::shared_ptr<PythonScope> parent = nullptr)
      : parent_(std::move(parent)),
        scope_(std::make_shared<Scope>(parent_ == nullptr ? nullptr : parent_->scope_.get())) {}
  ~PythonScope();
  PythonScope(const PythonScope&) = delete;
  PythonScope& operator=(const PythonScope&) = delete;

  Scope& scope() { return *scope_; }

 private:
  const std::shared_ptr<PythonScope> parent_;
  std::shared_ptr<Scope> scope_;  // not shared but with what destroys it
};

void DefineScope(pybind11::module_* module);

}  // namespace millrace

#endif  // MILLRACE_PYTHON_CORE_SCOPE_H_
