// SPDX-License-Identifier: Apache-2.0
// Exceptions of Python on their way through the core.
#ifndef MILLHOPPER_PYTHON_CORE_CAUSES_H_
#define MILLHOPPER_PYTHON_CORE_CAUSES_H_

#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <vector>

#include "framework/base/error.h"

namespace millhopper {

// "<who> has raised ValueError: no such word", with the exception as its cause; one of the core's
// own keeps its code, and an OSError is kIo. With the interpreter.
Error ErrorOfException(const std::string& who, const pybind11::object& exception);
// The same; but a Ctrl-C that stops the core is no exception of `who`, who met it first.
Error ErrorOfException(const std::string& who, pybind11::error_already_set* raised);

// The exception that an error was, or None. With the interpreter.
pybind11::object ExceptionOf(const Error& error);

// The exceptions that are the causes of errors which the core keeps, until somebody reads on to
// them: an exception holds the frames that it went through, and they may hold what reads. For the
// object whose errors they are, and which Python's collector looks at. With the interpreter.
class RaisedErrors {
 public:
  // Returns the error.
  Error Keep(const Error& error);
  int Visit(visitproc visit, void* arg) const;
  // Their errors are without a cause from now on.
  void Forget();

 private:
  std::vector<std::weak_ptr<const ErrorCause>> causes_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_CAUSES_H_
