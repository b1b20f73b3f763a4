// SPDX-License-Identifier: Apache-2.0
// Texts that hold file names, which are any bytes, between the core and Python.
#ifndef MILLHOPPER_PYTHON_CORE_TEXT_H_
#define MILLHOPPER_PYTHON_CORE_TEXT_H_

#include <pybind11/pybind11.h>

#include <string>

namespace millhopper {

// Bytes that are no UTF-8 become what os.fsdecode makes of them.
pybind11::object ToText(const std::string& bytes);
// What str() makes of a value; the reverse. Throws what str() throws, and UnicodeEncodeError for
// what came from no bytes.
std::string FromText(pybind11::handle value);

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_TEXT_H_
