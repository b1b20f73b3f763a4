// SPDX-License-Identifier: Apache-2.0
// Tensors handed from one library to another by DLPack's struct, without a copy
// (https://dmlc.github.io/dlpack, version 0.8, and the Python array API that names its capsules).
#ifndef MILLHOPPER_PYTHON_CORE_VALUES_DLPACK_H_
#define MILLHOPPER_PYTHON_CORE_VALUES_DLPACK_H_

#include <pybind11/pybind11.h>

#include "framework/tensor/tensor.h"

namespace millhopper {

// Makes a capsule "dltensor" over the tensor's memory, which lives until the consumer releases it.
// The capsule has no levels of detail. Throws kInvalidArgument if there are no values.
pybind11::capsule ToDlpack(const LoDTensor& tensor);
// Returns (device type, number), as __dlpack_device__ does.
pybind11::tuple DlpackDevice(const LoDTensor& tensor);
// Makes a tensor of a capsule, which is used up, or of an object with __dlpack__. Throws
// kInvalidArgument if the values are not on the host, not laid out row by row, or of a type that
// Millhopper does not have.
LoDTensor FromDlpack(const pybind11::object& source);

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_VALUES_DLPACK_H_
