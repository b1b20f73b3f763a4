// SPDX-License-Identifier: Apache-2.0
// Reads levels of detail from Python values.
#ifndef MILLHOPPER_PYTHON_CORE_VALUES_LEVELS_H_
#define MILLHOPPER_PYTHON_CORE_VALUES_LEVELS_H_

#include <pybind11/pybind11.h>

#include "framework/tensor/tensor.h"

namespace millhopper {

// Returns the integers of each level, outermost first, from a list (or any iterable) of arrays or
// lists of integers. `what` names them in error texts: "offsets" or "lengths". Throws
// kInvalidArgument if it is not a list of lists, and for values other than integers from 0 to 2^64
// - 1: bools are refused, and so are floats.
Lod LevelsOf(pybind11::handle levels, const char* what);

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_VALUES_LEVELS_H_
