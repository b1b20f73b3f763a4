// SPDX-License-Identifier: Apache-2.0
// What methods of Reader make of the programs of other readers.
#ifndef MILLHOPPER_PYTHON_CORE_READER_PROGRAM_H_
#define MILLHOPPER_PYTHON_CORE_READER_PROGRAM_H_

#include <pybind11/pybind11.h>

namespace millhopper {

// Adds append_reader, state_lanes and default_lanes to the module.
void DefineReaderPrograms(pybind11::module_* module);

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_READER_PROGRAM_H_
