// SPDX-License-Identifier: Apache-2.0
#include "python/core/interpreter/output.h"

#include <pybind11/pybind11.h>

#include <cstdio>

#include "python/core/interpreter/causes.h"
#include "python/core/interpreter/python_call.h"

namespace py = pybind11;

namespace millhopper {

PythonOutput::PythonOutput() : std::ostream(this) { exceptions(std::ios::badbit); }

std::streamsize PythonOutput::xsputn(const char* text, std::streamsize size) {
  const PythonCall call(0);
  try {
    const auto output = py::reinterpret_borrow<py::object>(PySys_GetObject("stdout"));
    if (output && !output.is_none()) {  // like print(), which does nothing without sys.stdout
      PythonCall::Result(output.attr("write"), py::str(text, static_cast<size_t>(size)));
    }
  } catch (py::error_already_set& raised) {
    throw ErrorOfException("sys.stdout", &raised);
  }
  return size;
}

int PythonOutput::overflow(int character) {
  const char text = static_cast<char>(character);
  if (character != EOF) xsputn(&text, 1);
  return 0;
}

}  // namespace millhopper
