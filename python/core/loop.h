// SPDX-License-Identifier: Apache-2.0
// One pass of a reader as an iterator of Python.
#ifndef MILLHOPPER_PYTHON_CORE_LOOP_H_
#define MILLHOPPER_PYTHON_CORE_LOOP_H_

#include <pybind11/pybind11.h>

#include <cstdint>
#include <optional>
#include <string>

namespace millhopper {

// Begins a pass, at its beginning or at a position (PythonReader::Save), and returns its iterator,
// which yields a dict for each element. An iterator that is dropped or closed before its end, or
// that has raised an error, releases all that the pass holds. It is a separate type instead of a
// generator, so that a batch costs little. Any thread may ask for the next element. `reader` is a
// Python object that holds a PythonReader; the iterator keeps it.
pybind11::object BeginLoop(const pybind11::object& reader, uint64_t pass,
                           const std::optional<std::string>& position);

// Adds the iterator's type to the module. Before the first BeginLoop.
void DefineLoop(pybind11::module_* module);

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_LOOP_H_
