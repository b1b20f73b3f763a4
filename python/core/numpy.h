// SPDX-License-Identifier: Apache-2.0
// Making arrays by numpy's own C functions. pybind11's array class costs a microsecond an array,
// and the one that Debian 12 has reads numpy 2's descriptors wrongly; these functions have the same
// places in the tables of numpy 1 and 2.
#ifndef MILLHOPPER_PYTHON_CORE_NUMPY_H_
#define MILLHOPPER_PYTHON_CORE_NUMPY_H_

#include <pybind11/numpy.h>

#include <cstdint>

#include "framework/tensor/tensor.h"

namespace millhopper {

// Finds the functions. When the module is imported; see ImportAll.
void FindNumpy();

// What numpy makes of a value: itself if it is an array in C order, else an array of its own.
// Throws what numpy throws.
pybind11::array ArrayOf(pybind11::handle value);

// An array over the values at `data`, laid out row by row, which `owner` keeps. bfloat16 comes as
// the uint16 of its bits.
pybind11::array ArrayOver(DataType type, const int64_t* dims, size_t rank, void* data,
                          bool writable, pybind11::object owner);
// An array with memory of its own and undefined values.
pybind11::array NewArray(DataType type, const int64_t* dims, size_t rank);

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_NUMPY_H_
