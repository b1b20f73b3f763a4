// SPDX-License-Identifier: Apache-2.0
// Exceptions of Python on their way through the core.
#ifndef MILLRACE_PYTHON_CORE_CAUSES_H_
#define MILLRACE_PYTHON_CORE_CAUSES_H_

#include <pybind11/pybind11.h>

#include <string>

#include "framework/error.h"

namespace millrace {

// "<who> has raised ValueError: no such word", with the exception as its cause; one of the core's
// own keeps its code, and an OSError is kIo. With the interpreter.
Error ErrorOfException(const std::string& who, const pybind11::object& exception);
Error ErrorOfException(const std::string& who, pybind11::error_already_set* raised);

// The exception that an error was, or None. With the interpreter.
pybind11::object ExceptionOf(const Error& error);

}  // namespace millrace

#endif  // MILLRACE_PYTHON_CORE_CAUSES_H_
