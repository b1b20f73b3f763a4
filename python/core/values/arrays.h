// SPDX-License-Identifier: Apache-2.0
// Tensors as arrays of numpy, without a copy.
#ifndef MILLHOPPER_PYTHON_CORE_VALUES_ARRAYS_H_
#define MILLHOPPER_PYTHON_CORE_VALUES_ARRAYS_H_

#include <pybind11/numpy.h>

#include "framework/tensor/tensor.h"

namespace millhopper {

// Makes an array of the same dims over the tensor's own memory, which lives as long as the array or
// a view of it. The array is writable unless something else shares that memory. bfloat16 appears as
// the uint16 of its bits. The tensor must be on the host.
pybind11::array ToArray(const LoDTensor& tensor);

// The type of the values of an array. Throws kInvalidArgument if Millhopper has no such type.
DataType TypeOf(const pybind11::dtype& dtype);

// For a tensor without levels of detail ToArray; for one with levels a millhopper.Ragged, or for
// texts a millhopper.Texts, of the values and one int64 array of offsets for each level, outermost
// first. Takes the offsets out of the tensor.
pybind11::object ToPython(LoDTensor* tensor, bool is_text = false);

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_VALUES_ARRAYS_H_
