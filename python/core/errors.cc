// SPDX-License-Identifier: Apache-2.0
#include "python/core/errors.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <exception>
#include <new>

#include "framework/error.h"
#include "python/core/causes.h"

namespace py = pybind11;

namespace millrace {
namespace {

void Raise(const char* type, const Error& error) {
  const py::object cls = py::module_::import("millrace.errors").attr(type);
  const py::object exception =
      cls(py::str(error.what()), ToString(error.code()), error.message(), error.file(),
          error.offset() < 0 ? py::object(py::none()) : py::object(py::int_(error.offset())),
          py::tuple(py::cast(error.context())));
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
    throw;
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const EndOfData& end) {
    Raise("EndOfData", end);
  } catch (const Error& error) {
    Raise("Error", error);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

}  // namespace millrace
