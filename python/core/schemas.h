// SPDX-License-Identifier: Apache-2.0
// What operators and file formats say of themselves, as dicts, and how errors end commands.
#ifndef MILLHOPPER_PYTHON_CORE_SCHEMAS_H_
#define MILLHOPPER_PYTHON_CORE_SCHEMAS_H_

#include <pybind11/pybind11.h>

namespace millhopper {

void DefineSchemas(pybind11::module_* module);

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_SCHEMAS_H_
