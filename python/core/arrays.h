// SPDX-License-Identifier: Apache-2.0
// Tensors as arrays of numpy, without a copy.
#ifndef MILLHOPPER_PYTHON_CORE_ARRAYS_H_
#define MILLHOPPER_PYTHON_CORE_ARRAYS_H_

#include <pybind11/numpy.h>

#include "framework/tensor/tensor.h"

namespace millhopper {

// An array of the same dims over the tensor's own memory, which lives as long as the array or a
// view of it does. It can be written unless somebody else sees that memory, too. bfloat16 comes as
// the uint16 of its bits. The tensor must be on the host.
pybind11::array ToArray(const LoDTensor& tensor);

// The type of values of an array. Throws kInvalidArgument if it is none of ours.
DataType TypeOf(const pybind11::dtype& dtype);

// ToArray, or for a tensor with levels of detail a millhopper.Ragged of the values and an int64
// array of offsets a level, outermost first. Takes the offsets out of the tensor.
pybind11::object ToPython(LoDTensor* tensor);

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_ARRAYS_H_
