// SPDX-License-Identifier: Apache-2.0
// Exceptions of Python on their way through the core.
#ifndef MILLHOPPER_PYTHON_CORE_INTERPRETER_CAUSES_H_
#define MILLHOPPER_PYTHON_CORE_INTERPRETER_CAUSES_H_

#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <vector>

#include "framework/base/error.h"

namespace millhopper {

// Returns "<who> has raised ValueError: no such word", with the exception as its cause. A
// millhopper.Error keeps its code, and an OSError becomes kIo. The caller holds the interpreter.
Error ErrorOfException(const std::string& who, const pybind11::object& exception);
// The same, but if `raised` comes from a Ctrl-C that stops the core, the error is kCancelled, since
// `who` only met the interrupt.
Error ErrorOfException(const std::string& who, pybind11::error_already_set* raised);

// The Python exception that caused the error, or None. The caller holds the interpreter.
pybind11::object ExceptionOf(const Error& error);

// The exceptions that caused errors which the core keeps until the consumer reaches them. An
// exception holds the frames that it went through, and these may hold the reader. So an object that
// Python's collector looks at has this member for its errors. The caller holds the interpreter.
class RaisedErrors {
 public:
  // Remembers the cause of the error, and returns the error.
  Error Keep(const Error& error);
  int Visit(visitproc visit, void* arg) const;
  // Drops the exceptions: their errors have no cause from now on.
  void Forget();

 private:
  std::vector<std::weak_ptr<const ErrorCause>> causes_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_INTERPRETER_CAUSES_H_
