// SPDX-License-Identifier: Apache-2.0
// One pass of a reader as an iterator of Python.
#ifndef MILLHOPPER_PYTHON_CORE_LOOP_H_
#define MILLHOPPER_PYTHON_CORE_LOOP_H_

#include <pybind11/pybind11.h>

#include <cstdint>

namespace millhopper {

// Begins a pass and returns its iterator, which yields a dict for each element. An iterator that is
// dropped or closed before its end, or that has raised an error, gives back all that the pass
// holds. A type of its own and no generator, so that a batch costs little; any thread may ask for
// the next one. `reader` is a PythonReader, which is kept with what Python has put on it.
pybind11::object BeginLoop(const pybind11::object& reader, uint64_t pass);

// Adds the iterator's type to the module. Before the first BeginLoop.
void DefineLoop(pybind11::module_* module);

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_LOOP_H_
