// SPDX-License-Identifier: Apache-2.0
// Errors of Millhopper as exceptions of Python.
#ifndef MILLHOPPER_PYTHON_CORE_INTERPRETER_ERRORS_H_
#define MILLHOPPER_PYTHON_CORE_INTERPRETER_ERRORS_H_

namespace millhopper {

// From now on, an Error that leaves this module becomes a millhopper.Error (or
// millhopper.EndOfData) with its code, message, file, offset and context as attributes. The classes
// are those of millhopper/errors.py.
void TranslateErrors();

// For functions that Python calls without pybind11. To be called in a catch block: makes the caught
// exception Python's current one.
void SetPythonError();

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_INTERPRETER_ERRORS_H_
