// SPDX-License-Identifier: Apache-2.0
// Startup programs that are written by Python, one creation operator at a time.
#ifndef MILLHOPPER_PYTHON_CORE_READER_PROGRAM_H_
#define MILLHOPPER_PYTHON_CORE_READER_PROGRAM_H_

#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "framework/tensor/rows.h"

namespace millhopper {

// The program (binary, or empty) with one more creation operator, in binary. It reads `underlying`,
// unless that is empty, and writes the reader `output`, declared with `slots`. Attributes that are
// None are left out, others turned into the types that the operator declares. Throws
// kInvalidArgument for what cannot be turned; what else is wrong is said when the program is
// checked.
pybind11::bytes AddReader(const std::string& program, const std::string& type,
                          const std::string& output, const std::string& underlying,
                          const std::vector<SlotSpec>& slots, const pybind11::dict& attributes);

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_READER_PROGRAM_H_
