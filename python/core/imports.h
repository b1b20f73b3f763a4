// SPDX-License-Identifier: Apache-2.0
// What the core uses of Python's modules.
#ifndef MILLHOPPER_PYTHON_CORE_IMPORTS_H_
#define MILLHOPPER_PYTHON_CORE_IMPORTS_H_

#include <pybind11/pybind11.h>

namespace millhopper {

// Objects of other modules. They are never let go, for the interpreter may be gone by then.
struct Imports {
  pybind11::object error;        // millhopper.errors.Error
  pybind11::object end_of_data;  // millhopper.errors.EndOfData
  pybind11::object ragged;       // millhopper.ragged.Ragged
  pybind11::object asarray;      // numpy.asarray
  pybind11::object uint16;       // numpy.dtype("uint16")
  pybind11::object getsignal;    // signal.getsignal
  pybind11::object default_int_handler;
};

// Looks all of them up, and numpy's C functions, our own and pybind11's. To be called when the
// module is imported: an import gives the interpreter away, so one that a function's static began
// later would leave that static's lock with a thread that waits for the interpreter, while the
// thread that has the interpreter waits for the lock.
void ImportAll();

// With the interpreter, after ImportAll.
const Imports& Imported();

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_IMPORTS_H_
