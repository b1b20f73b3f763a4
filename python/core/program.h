// SPDX-License-Identifier: Apache-2.0
// millrace._core.Program.
#ifndef MILLRACE_PYTHON_CORE_PROGRAM_H_
#define MILLRACE_PYTHON_CORE_PROGRAM_H_

#include <pybind11/pybind11.h>

namespace millrace {

void DefineProgram(pybind11::module_* module);

}  // namespace millrace

#endif  // MILLRACE_PYTHON_CORE_PROGRAM_H_
