// SPDX-License-Identifier: Apache-2.0
// millhopper._core.Program.
#ifndef MILLHOPPER_PYTHON_CORE_PROGRAM_H_
#define MILLHOPPER_PYTHON_CORE_PROGRAM_H_

#include <pybind11/pybind11.h>

namespace millhopper {

void DefineProgram(pybind11::module_* module);

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_PROGRAM_H_
