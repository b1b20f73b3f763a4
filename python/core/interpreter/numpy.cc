// SPDX-License-Identifier: Apache-2.0
#include "python/core/interpreter/numpy.h"

#include "framework/base/error.h"
#include "python/core/interpreter/imports.h"

namespace py = pybind11;

namespace millhopper {
namespace {

// The part that we use of the table that numpy hands to other modules.
struct Numpy {
  using New = PyObject* (*)(PyTypeObject* type, int rank, const Py_intptr_t* dims, int value_type,
                            const Py_intptr_t* strides, void* data, int item_size, int flags,
                            PyObject* prototype);
  using SetBase = int (*)(PyObject* array, PyObject* base);

  PyTypeObject* array_type;
  New make;
  SetBase set_base;  // takes the reference over, also when it fails
};

constexpr int kContiguous = 0x1;  // row by row
constexpr int kAligned = 0x100;
constexpr int kWriteable = 0x400;

Numpy* numpy = nullptr;

Numpy* Find() {
  py::object table;
  try {
    table = py::module_::import("numpy._core.multiarray").attr("_ARRAY_API");
  } catch (const py::error_already_set& error) {  // numpy 1
    if (!error.matches(PyExc_ImportError)) throw;
    table = py::module_::import("numpy.core.multiarray").attr("_ARRAY_API");
  }
  void** const functions = static_cast<void**>(PyCapsule_GetPointer(table.ptr(), nullptr));
  if (functions == nullptr) throw py::error_already_set();
  return new Numpy{static_cast<PyTypeObject*>(functions[2]),
                   reinterpret_cast<Numpy::New>(functions[93]),
                   reinterpret_cast<Numpy::SetBase>(functions[282])};
}

// The number of the type in numpy.
int NumberOf(DataType type) {
  switch (type) {
    case DataType::kBool:
      return 0;
    case DataType::kInt8:
      return 1;
    case DataType::kUint8:
      return 2;
    case DataType::kInt16:
      return 3;
    case DataType::kUint16:
    case DataType::kBf16:
      return 4;
    case DataType::kInt32:
      return 5;
    case DataType::kUint32:
      return 6;
    case DataType::kInt64:
      return 7;
    case DataType::kUint64:
      return 8;
    case DataType::kFp32:
      return 11;
    case DataType::kFp64:
      return 12;
    case DataType::kFp16:
      return 23;
  }
  Throw(ErrorCode::kInternal, "no array can hold ", ToString(type));
}

py::array Make(DataType type, const int64_t* dims, size_t rank, void* data, int flags) {
  static_assert(sizeof(Py_intptr_t) == sizeof(int64_t));
  PyObject* const array = numpy->make(numpy->array_type, static_cast<int>(rank), dims,
                                      NumberOf(type), nullptr, data, 0, flags, nullptr);
  if (array == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::array>(array);
}

}  // namespace

void FindNumpy() { numpy = Find(); }

py::array ArrayOf(py::handle value) { return Imported().asarray(value, py::none(), "C"); }

py::array ArrayOver(DataType type, const int64_t* dims, size_t rank, void* data, bool writable,
                    py::object owner) {
  const bool aligned = reinterpret_cast<uintptr_t>(data) % SizeOf(type) == 0;
  py::array array = Make(type, dims, rank, data,
                         kContiguous | (aligned ? kAligned : 0) | (writable ? kWriteable : 0));
  if (numpy->set_base(array.ptr(), owner.release().ptr()) < 0) throw py::error_already_set();
  return array;
}

py::array NewArray(DataType type, const int64_t* dims, size_t rank) {
  return Make(type, dims, rank, nullptr, 0);
}

}  // namespace millhopper
