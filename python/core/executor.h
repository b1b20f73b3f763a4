// SPDX-License-Identifier: Apache-2.0
// millrace._core.Prepared: a program in a scope, ready to be run again and again.
#ifndef MILLRACE_PYTHON_CORE_EXECUTOR_H_
#define MILLRACE_PYTHON_CORE_EXECUTOR_H_

#include <pybind11/pybind11.h>

namespace millrace {

void DefineExecutor(pybind11::module_* module);

}  // namespace millrace

#endif  // MILLRACE_PYTHON_CORE_EXECUTOR_H_
