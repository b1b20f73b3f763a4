// SPDX-License-Identifier: Apache-2.0
// millhopper._core.infer: what operators make of what is known of their inputs.
#ifndef MILLHOPPER_PYTHON_CORE_INFERENCE_H_
#define MILLHOPPER_PYTHON_CORE_INFERENCE_H_

#include <pybind11/pybind11.h>

namespace millhopper {

void DefineInference(pybind11::module_* module);

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_INFERENCE_H_
