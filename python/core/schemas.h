// SPDX-License-Identifier: Apache-2.0
// The schemas of operators and file formats as dicts, and the exit codes of commands by error.
#ifndef MILLHOPPER_PYTHON_CORE_SCHEMAS_H_
#define MILLHOPPER_PYTHON_CORE_SCHEMAS_H_

#include <pybind11/pybind11.h>

namespace millhopper {

void DefineSchemas(pybind11::module_* module);

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_SCHEMAS_H_
