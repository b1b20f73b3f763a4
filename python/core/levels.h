// SPDX-License-Identifier: Apache-2.0
// Levels of detail as Python gives them.
#ifndef MILLHOPPER_PYTHON_CORE_LEVELS_H_
#define MILLHOPPER_PYTHON_CORE_LEVELS_H_

#include <pybind11/pybind11.h>

#include "framework/tensor/tensor.h"

namespace millhopper {

// The integers of each level, outermost first: of a list (or any iterable) of arrays or lists of
// integers. `what` says what they are, in error texts: "offsets" or "lengths". Throws
// kInvalidArgument for what is no list of lists, and for numbers that are no integers from 0 to
// 2^64 - 1; bools are none, and floats are not cut off.
Lod LevelsOf(pybind11::handle levels, const char* what);

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_LEVELS_H_
