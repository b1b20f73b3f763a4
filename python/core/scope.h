// SPDX-License-Identifier: Apache-2.0
// millhopper._core.Scope and Variable.
#ifndef MILLHOPPER_PYTHON_CORE_SCOPE_H_
#define MILLHOPPER_PYTHON_CORE_SCOPE_H_

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "framework/program/scope.h"
#include "framework/reader/reader.h"
#include "framework/reader/reader_holder.h"
#include "python/core/interpreter/interpreter_release.h"
#include "python/core/interpreter/python_call.h"

namespace millhopper {

// A scope that keeps its parent scope. It is destroyed without the interpreter, because readers in
// it wait for their workers, which may need the interpreter.
class PythonScope {
 public:
  explicit PythonScope(std::shared_ptr<PythonScope> parent = nullptr)
      : parent_(std::move(parent)),
        number_(parent_ == nullptr ? OpensReader::NewNumber() : parent_->number_),
        scope_(std::make_shared<Scope>(parent_ == nullptr ? nullptr : parent_->scope_.get())) {}
  ~PythonScope();
  PythonScope(const PythonScope&) = delete;
  PythonScope& operator=(const PythonScope&) = delete;

  Scope& scope() { return *scope_; }
  // The number by which readers in this scope, its parents and its children call functions.
  uint64_t number() const { return number_; }
  // Whether the thread is in a function that such a reader calls. A read in this scope could wait
  // for that reader, which waits for the function.
  bool CallsThisThread() const { return PythonCall::WithinOneOf(number_); }

 private:
  const std::shared_ptr<PythonScope> parent_;
  const uint64_t number_;
  std::shared_ptr<Scope> scope_;  // shared only with the task that destroys it
};

// A variable and its scope, which this object keeps.
class PythonVariable {
 public:
  PythonVariable(std::shared_ptr<PythonScope> scope, Variable* variable)
      : scope_(std::move(scope)), variable_(variable) {}
  bool operator==(const PythonVariable& other) const { return variable_ == other.variable_; }

  const Variable& get() const { return *variable_; }
  const PythonScope& scope() const { return *scope_; }
  // Returns the value to write to. It may replace a reader, which waits for its workers. Throws
  // kInvalidArgument if the workers may wait for the calling function.
  template <typename T>
  T* Mutable() const {
    if (!variable_->Holds<T>()) RequireNoneToWaitFor();
    const InterpreterRelease released;  // the workers may wait for the interpreter
    return variable_->GetMutable<T>();
  }
  // Drops the value. Throws like Mutable.
  void Clear() const;

 private:
  void RequireNoneToWaitFor() const;

  std::shared_ptr<PythonScope> scope_;
  Variable* variable_;
};

void DefineScope(pybind11::module_* module);

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_SCOPE_H_
