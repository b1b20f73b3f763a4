// SPDX-License-Identifier: Apache-2.0
// millhopper._core.LoDTensor: what programs are fed with and what they give back.
#ifndef MILLHOPPER_PYTHON_CORE_VALUES_TENSOR_H_
#define MILLHOPPER_PYTHON_CORE_VALUES_TENSOR_H_

#include <pybind11/pybind11.h>

namespace millhopper {

void DefineTensor(pybind11::module_* module);

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_VALUES_TENSOR_H_
