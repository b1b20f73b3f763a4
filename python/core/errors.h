// SPDX-License-Identifier: Apache-2.0
// Errors of Millrace as exceptions of Python.
#ifndef MILLRACE_PYTHON_CORE_ERRORS_H_
#define MILLRACE_PYTHON_CORE_ERRORS_H_

namespace millrace {

// From now on, an Error that leaves this module becomes a millrace.Error (or millrace.EndOfData)
// with its code, message, file, offset and context as attributes. The classes are those of
// millrace/errors.py.
void TranslateErrors();

// For functions that Python calls without pybind11: makes what is being handled in a catch block
// Python's present exception.
void SetPythonError();

}  // namespace millrace

#endif  // MILLRACE_PYTHON_CORE_ERRORS_H_
