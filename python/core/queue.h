// SPDX-License-Identifier: Apache-2.0
// millrace._core.Queue: through which Python feeds a reader of a C++ program.
#ifndef MILLRACE_PYTHON_CORE_QUEUE_H_
#define MILLRACE_PYTHON_CORE_QUEUE_H_

#include <pybind11/pybind11.h>

namespace millrace {

// After DefineScope.
void DefineQueue(pybind11::module_* module);

}  // namespace millrace

#endif  // MILLRACE_PYTHON_CORE_QUEUE_H_
