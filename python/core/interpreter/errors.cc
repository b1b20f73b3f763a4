// SPDX-License-Identifier: Apache-2.0
#include "python/core/interpreter/errors.h"

#include <pybind11/pybind11.h>

#include <exception>
#include <new>
#include <string>

#include "framework/base/error.h"
#include "python/core/interpreter/causes.h"
#include "python/core/interpreter/imports.h"
#include "python/core/interpreter/text.h"

namespace py = pybind11;

namespace millhopper {
namespace {

void Raise(const py::object& cls, const Error& error) {
  py::list context;
  for (const std::string& step : error.context()) context.append(ToText(step));
  const py::object exception = cls(
      ToText(error.what()), ToString(error.code()), ToText(error.message()), ToText(error.file()),
      error.offset() < 0 ? py::object(py::none()) : py::object(py::int_(error.offset())),
      py::tuple(context));
  const py::object cause = ExceptionOf(error);
  if (!cause.is_none() && PyObject_IsInstance(cause.ptr(), PyExc_Exception) == 0) {
    // KeyboardInterrupt and SystemExit pass as they are: code that catches errors does not expect
    // to catch these.
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
      Raise(Imported().end_of_data, end);
    } catch (const Error& error) {
      Raise(Imported().error, error);
    }
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

}  // namespace millhopper
