// SPDX-License-Identifier: Apache-2.0
// Values of attributes, the schemas of operators and file formats as dicts, and the exit codes of
// commands by error.
#ifndef MILLHOPPER_PYTHON_CORE_SCHEMAS_H_
#define MILLHOPPER_PYTHON_CORE_SCHEMAS_H_

#include <pybind11/pybind11.h>

#include "framework/base/attribute.h"

namespace millhopper {

// None for a block.
pybind11::object AttributeToPython(const Attribute& attribute);

void DefineSchemas(pybind11::module_* module);

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_SCHEMAS_H_
