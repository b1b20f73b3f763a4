// SPDX-License-Identifier: Apache-2.0
// millhopper._core.Queue, through which Python feeds a reader of a C++ program.
#ifndef MILLHOPPER_PYTHON_CORE_QUEUE_H_
#define MILLHOPPER_PYTHON_CORE_QUEUE_H_

#include <pybind11/pybind11.h>

namespace millhopper {

// To be called after DefineScope.
void DefineQueue(pybind11::module_* module);

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_QUEUE_H_
