// SPDX-License-Identifier: Apache-2.0
// Converts texts between the core and Python. They hold file names, which may be any bytes.
#ifndef MILLHOPPER_PYTHON_CORE_INTERPRETER_TEXT_H_
#define MILLHOPPER_PYTHON_CORE_INTERPRETER_TEXT_H_

#include <pybind11/pybind11.h>

#include <string>

namespace millhopper {

// Makes a str. Bytes that are not UTF-8 become what os.fsdecode makes of them.
pybind11::object ToText(const std::string& bytes);
// The reverse of ToText, for str(value). Throws what str() throws, and UnicodeEncodeError if the
// text cannot have come from bytes.
std::string FromText(pybind11::handle value);

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_INTERPRETER_TEXT_H_
