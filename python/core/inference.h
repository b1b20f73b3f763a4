// SPDX-License-Identifier: Apache-2.0
// millhopper._core.infer: tells what is known of the outputs of an operator from what is known of
// its inputs.
#ifndef MILLHOPPER_PYTHON_CORE_INFERENCE_H_
#define MILLHOPPER_PYTHON_CORE_INFERENCE_H_

#include <pybind11/pybind11.h>

namespace millhopper {

void DefineInference(pybind11::module_* module);

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_INFERENCE_H_
