// SPDX-License-Identifier: Apache-2.0
// millhopper._core.Prepared: a program in a scope, ready to be run again and again.
#ifndef MILLHOPPER_PYTHON_CORE_EXECUTOR_H_
#define MILLHOPPER_PYTHON_CORE_EXECUTOR_H_

#include <pybind11/pybind11.h>

namespace millhopper {

void DefineExecutor(pybind11::module_* module);

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_EXECUTOR_H_
