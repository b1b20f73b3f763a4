// SPDX-License-Identifier: Apache-2.0
#include "python/core/interpreter/text.h"

namespace py = pybind11;

namespace millhopper {
namespace {

constexpr char kEscapes[] = "surrogateescape";

}  // namespace

py::object ToText(const std::string& bytes) {
  PyObject* const text =
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<py::ssize_t>(bytes.size()), kEscapes);
  if (text == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(text);
}

std::string FromText(py::handle value) {
  const py::str text(value);
  PyObject* const bytes = PyUnicode_AsEncodedString(text.ptr(), "utf-8", kEscapes);
  if (bytes == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::bytes>(bytes);
}

}  // namespace millhopper
