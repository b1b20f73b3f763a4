// SPDX-License-Identifier: Apache-2.0
// What millhopper.Executor saves of a scope.
#ifndef MILLHOPPER_PYTHON_CORE_SAVED_SCOPE_H_
#define MILLHOPPER_PYTHON_CORE_SAVED_SCOPE_H_

#include <pybind11/pybind11.h>

namespace millhopper {

void DefineSavedScope(pybind11::module_* module);

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_SAVED_SCOPE_H_
