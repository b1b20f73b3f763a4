// SPDX-License-Identifier: Apache-2.0
// The objects of Python modules that the core uses.
#ifndef MILLHOPPER_PYTHON_CORE_INTERPRETER_IMPORTS_H_
#define MILLHOPPER_PYTHON_CORE_INTERPRETER_IMPORTS_H_

#include <pybind11/pybind11.h>

namespace millhopper {

// Objects of other modules. They are never released, because the interpreter may be gone by then.
struct Imports {
  pybind11::object error;        // millhopper.errors.Error
  pybind11::object end_of_data;  // millhopper.errors.EndOfData
  pybind11::object ragged;       // millhopper.ragged.Ragged
  pybind11::object texts;        // millhopper.ragged.Texts
  pybind11::object asarray;      // numpy.asarray
  pybind11::object uint16;       // numpy.dtype("uint16")
  pybind11::object getsignal;    // signal.getsignal
  pybind11::object default_int_handler;
  pybind11::object unwrap;  // inspect.unwrap
};

// Looks up all of Imports, numpy's C functions, and those that pybind11 uses. To be called when the
// module is imported, because a later import could deadlock. An import releases the interpreter. If
// it ran in the initializer of a function's static variable, this thread would hold the lock of
// that variable and wait for the interpreter, while another thread holds the interpreter and waits
// for the lock.
void ImportAll();

// To be called with the interpreter, after ImportAll.
const Imports& Imported();

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_INTERPRETER_IMPORTS_H_
