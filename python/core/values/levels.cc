// SPDX-License-Identifier: Apache-2.0
#include "python/core/values/levels.h"

#include <pybind11/numpy.h>

#include <string>

#include "framework/base/error.h"
#include "python/core/interpreter/causes.h"
#include "python/core/interpreter/imports.h"
#include "python/core/interpreter/numpy.h"
#include "python/core/interpreter/text.h"

namespace py = pybind11;

namespace millhopper {
namespace {

// Names a level in error texts.
struct Level {
  const char* what;
  size_t number;

  template <typename... Parts>
  [[noreturn]] void Fail(const Parts&... parts) const {
    Throw(ErrorCode::kInvalidArgument, text(), parts...);
  }
  std::string text() const { return StrCat("the ", what, " of level ", number); }
};

// As numpy has them by default, and as we make them.
bool IsPlain(py::handle value) {
  if (!py::isinstance<py::array>(value)) return false;
  const auto array = py::reinterpret_borrow<py::array>(value);
  const py::dtype dtype = array.dtype();
  const auto* const layout = py::detail::array_descriptor_proxy(dtype.ptr());
  return array.ndim() == 1 && layout->byteorder == '=' &&
         layout->type_num == py::detail::npy_api::NPY_INT64_ &&
         (array.flags() & py::array::c_style) != 0;
}

py::array AsArray(py::handle value, const Level& level) {
  try {
    return ArrayOf(value);
  } catch (py::error_already_set& raised) {  // lists of different lengths, an odd __array__
    throw ErrorOfException(level.text() + ": numpy", &raised);
  }
}

// Makes an int64 or uint64 array of any other value that holds integers.
py::array IntegersOf(py::handle value, const Level& level) {
  const py::array given = AsArray(value, level);
  if (given.ndim() == 0) {
    level.Fail(" are of type '", Py_TYPE(value.ptr())->tp_name, "'; they are a list of integers");
  }
  if (given.ndim() != 1) level.Fail(" have ", given.ndim(), " axes; they are a list of integers");
  const char kind = given.size() == 0 ? 'u' : given.dtype().kind();
  if (kind != 'i' && kind != 'u') {
    level.Fail(" are ", FromText(given.attr("dtype")), "; they are integers from 0");
  }
  return Imported().asarray(given, kind == 'i' ? "int64" : "uint64", "C");
}

LodLevel NumbersOf(py::handle value, const Level& level) {
  const py::array integers =
      IsPlain(value) ? py::reinterpret_borrow<py::array>(value) : IntegersOf(value, level);
  const auto count = static_cast<size_t>(integers.size());
  const auto* const numbers = static_cast<const uint64_t*>(integers.data());
  const bool is_signed = integers.dtype().kind() == 'i';
  for (size_t i = 0; is_signed && i < count; ++i) {
    const auto number = static_cast<int64_t>(numbers[i]);
    if (number < 0) level.Fail(": value ", i, " is ", number, "; they are integers from 0");
  }
  return LodLevel(numbers, numbers + count);
}

}  // namespace

Lod LevelsOf(py::handle levels, const char* what) {
  const auto iterator = py::reinterpret_steal<py::object>(PyObject_GetIter(levels.ptr()));
  if (!iterator || PyUnicode_Check(levels.ptr()) != 0) {
    PyErr_Clear();
    Throw(ErrorCode::kInvalidArgument, "the ", what, " are of type '",
          Py_TYPE(levels.ptr())->tp_name, "'; they are a list of levels, each a list of integers");
  }
  Lod result;
  for (const py::handle level : iterator) {
    result.push_back(NumbersOf(level, {what, result.size()}));
  }
  return result;
}

}  // namespace millhopper
