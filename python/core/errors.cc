// SPDX-License-Identifier: Apache-2.0
#include "python/core/errors.h"

#include <pybind11/pybind11.h>

#include <exception>
#include <new>
#include <string>

#include "framework/error.h"
#include "python/core/causes.h"

namespace py = pybind11;

namespace millrace {
namespace {

// File names, and so the texts that name them, are any bytes.
py::object Text(const std::string& text) {
  PyObject* const decoded =
      PyUnicode_DecodeUTF8(text.data(), static_cast<py::ssize_t>(text.size()), "surrogateescape");
  if (decoded == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(decoded);
}

void Raise(const char* type, const Error& error) {
  const py::object cls = py::module_::import("millrace.errors").attr(type);
  py::list context;
  for (const std::string& step : error.context()) context.append(Text(step));
  const py::object exception =
      cls(Text(error.what()), ToString(error.code()), Text(error.message()), Text(error.file()),
          error.offset() < 0 ? py::object(py::none()) : py::object(py::int_(error.offset())),
          py::tuple(context));
  const py::object cause = ExceptionOf(error);
  if (!cause.is_none() && PyObject_IsInstance(cause.ptr(), PyExc_Exception) == 0) {
    // KeyboardInterrupt, SystemExit: whoever catches errors does not mean them.
    PyErr_SetObject(py::type::handle_of(cause).ptr(), cause.ptr());
    return;
  }
  if (!cause.is_none()) PyException_SetCause(exception.ptr(), py::object(cause).release().ptr());
  PyErr_SetObject(cls.ptr(), exception.ptr());
}

}  // namespace

void TranslateErrors() {
  // By value, as pybind11 declares it. NOLINTNEXTLINE(performance-unnecessary-value-param)
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Error&) {
      SetPythonError();
    }
  });
}

void SetPythonError() {
  try {
    try {
      throw;
    } catch (const EndOfData& end) {
      Raise("EndOfData", end);
    } catch (const Error& error) {
      Raise("Error", error);
    }
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

}  // namespace millrace
