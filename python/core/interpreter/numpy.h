// SPDX-License-Identifier: Apache-2.0
// Makes arrays with numpy's own C functions. pybind11's array class costs a microsecond an array,
// and the version in Debian 12 reads numpy 2's descriptors wrongly. These functions have the same
// places in the tables of numpy 1 and 2.
#ifndef MILLHOPPER_PYTHON_CORE_INTERPRETER_NUMPY_H_
#define MILLHOPPER_PYTHON_CORE_INTERPRETER_NUMPY_H_

#include <pybind11/numpy.h>

#include <cstdint>

#include "framework/tensor/tensor.h"

namespace millhopper {

// Finds the functions. ImportAll calls it when the module is imported.
void FindNumpy();

// Returns the value itself if it is an array in C order, else a new array that numpy makes of it.
// Throws what numpy throws.
pybind11::array ArrayOf(pybind11::handle value);

// Makes an array over the values at `data`, laid out row by row, and keeps `owner` for as long as
// the array exists. bfloat16 appears as the uint16 of its bits.
pybind11::array ArrayOver(DataType type, const int64_t* dims, size_t rank, void* data,
                          bool writable, pybind11::object owner);
// Makes an array with its own memory and undefined values.
pybind11::array NewArray(DataType type, const int64_t* dims, size_t rank);

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_INTERPRETER_NUMPY_H_
