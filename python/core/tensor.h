// SPDX-License-Identifier: Apache-2.0
// millrace._core.LoDTensor: what programs are fed with and what they give back.
#ifndef MILLRACE_PYTHON_CORE_TENSOR_H_
#define MILLRACE_PYTHON_CORE_TENSOR_H_

#include <pybind11/pybind11.h>

namespace millrace {

void DefineTensor(pybind11::module_* module);

}  // namespace millrace

#endif  // MILLRACE_PYTHON_CORE_TENSOR_H_
