// SPDX-License-Identifier: Apache-2.0
#include "python/core/values/tensor.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/tensor/tensor.h"
#include "python/core/interpreter/borrowed.h"
#include "python/core/interpreter/numpy.h"
#include "python/core/values/arrays.h"
#include "python/core/values/dlpack.h"
#include "python/core/values/levels.h"

namespace py = pybind11;

namespace millhopper {
namespace {

Lod OffsetsOf(py::handle given) {
  Lod lod;
  for (const LodLevel& level : LevelsOf(given, "lengths")) {
    LodLevel& offsets = lod.emplace_back(1, 0);
    for (const uint64_t length : level) {
      uint64_t end = 0;
      Require(!__builtin_add_overflow(offsets.back(), length, &end), "lengths overflow");
      offsets.push_back(end);
    }
  }
  return lod;
}

Lod LengthsOf(const Lod& lod) {
  Lod lengths;
  for (const LodLevel& level : lod) {
    LodLevel& row = lengths.emplace_back();
    for (size_t i = 1; i < level.size(); ++i) row.push_back(level[i] - level[i - 1]);
  }
  return lengths;
}

// Checks the levels against one another. The last level is checked against the rows when the tensor
// is used, because values may be set after the levels.
void SetLod(LoDTensor* tensor, Lod lod) {
  for (const LodLevel& level : lod) {
    Require(!level.empty(), "a level of offsets is empty; it begins with 0");
  }
  CheckLod(lod, lod.empty() ? 0 : lod.back().back());
  *tensor->mutable_lod_unchecked() = std::move(lod);
}

bool HasValidLod(const LoDTensor& tensor) {
  if (tensor.lod().empty()) return true;
  return tensor.initialized() && tensor.lod().back().back() == tensor.rows();
}

Dims DimsOf(const py::array& array) {
  return Dims(std::vector<int64_t>(array.shape(), array.shape() + array.ndim()));
}

void Set(LoDTensor* tensor, const py::object& values, const py::object& place) {
  if (!place.is_none()) {
    if (!py::hasattr(place, "name")) {
      throw py::type_error("a place is CPUPlace() or CUDAPlace(0), not " +
                           py::repr(place).cast<std::string>());
    }
    Require(Place::Parse(py::str(place.attr("name"))).is_cpu(),
            "a tensor is set on the host; a double buffer takes batches to the device");
  }
  const py::array array = ArrayOf(values);
  Lod lod = tensor->lod();  // Allocate drops it, but values may be set after it
  tensor->Allocate(TypeOf(array.dtype()), DimsOf(array));
  std::memcpy(tensor->mutable_raw_data(), array.data(), tensor->bytes());
  *tensor->mutable_lod_unchecked() = std::move(lod);
}

LoDTensor FromArray(const py::array& array) {
  Require((array.flags() & py::array::c_style) != 0,
          "the array is not laid out row by row; numpy.ascontiguousarray makes it so");
  const DataType type = TypeOf(array.dtype());
  const Dims dims = DimsOf(array);
  const size_t bytes = static_cast<size_t>(Product(dims)) * SizeOf(type);
  LoDTensor tensor;
  tensor.Share(Borrow(const_cast<void*>(array.data()), bytes, array), type, dims);
  return tensor;
}

py::array OnHostArray(const LoDTensor& tensor) {
  Require(tensor.initialized(), "the tensor has no values");
  return ToArray(tensor.OnHost());
}

// numpy refuses to export a read-only array by DLPack, so arrays do not go through a capsule.
LoDTensor TakeOver(const py::object& source) {
  if (py::isinstance<py::array>(source))
    return FromArray(py::reinterpret_borrow<py::array>(source));
  return FromDlpack(source);
}

// __dlpack__ of Python's array API standard. The capsule has the old version, which every consumer
// takes.
py::capsule Export(const LoDTensor& tensor, const py::object& /*stream*/,
                   const py::object& /*max_version*/, const py::object& device,
                   const py::object& copy) {
  if (!device.is_none() && !device.equal(DlpackDevice(tensor))) {
    throw py::buffer_error("a tensor is handed over where it is, not on another device");
  }
  if (copy.is_none() || !copy.cast<bool>()) return ToDlpack(tensor);
  if (!tensor.place().is_cpu()) {
    throw py::buffer_error("a tensor on a device is handed over without a copy; copy it there");
  }
  LoDTensor own = tensor.OnHost();
  if (own.initialized()) own.mutable_raw_data();  // copies the values if they are shared
  return ToDlpack(own);
}

// The buffer protocol, by way of the array over the same memory. The view keeps that memory alive.
int GetBuffer(PyObject* self, Py_buffer* view, int flags) {
  try {
    const py::array array = OnHostArray(py::cast<const LoDTensor&>(py::handle(self)));
    return PyObject_GetBuffer(array.ptr(), view, flags);
  } catch (const std::exception& error) {
    view->obj = nullptr;
    PyErr_SetString(PyExc_BufferError, error.what());
    return -1;
  }
}

void SetUpType(PyHeapTypeObject* type) {
  type->ht_type.tp_as_buffer = &type->as_buffer;
  type->as_buffer.bf_getbuffer = &GetBuffer;
}

std::string Text(const LoDTensor& tensor) {
  std::string text = tensor.initialized() ? Describe(tensor) : "no values";
  if (!tensor.lod().empty()) text += " lod " + ToString(tensor.lod());
  return text;
}

}  // namespace

void DefineTensor(py::module_* module) {
  py::class_<LoDTensor>(*module, "LoDTensor", py::custom_type_setup(&SetUpType),
                        R"(Values with a dtype, dims and levels of detail.

A level of detail cuts the rows of the level below it into sequences: lengths ``[[2, 1], [3, 2, 4]]``
are two paragraphs, of two sentences and one, of 3, 2 and 4 words, which are rows (Paddle Fluid's
LoDTensor). ``numpy.asarray(tensor)``, the buffer protocol and DLPack show the values without a copy;
that memory is not written again while somebody sees it.

Source: PaddlePaddle's LoDTensor, 2017.)")
      .def(py::init([](const py::object& lengths) {
             LoDTensor tensor;
             SetLod(&tensor, OffsetsOf(lengths));
             return tensor;
           }),
           py::arg("recursive_sequence_lengths") = py::tuple(),
           "A tensor without values.\n\n"
           "Raises:\n    Error: the lengths are no integers, or the levels do not fit one another.")
      .def("set", &Set, py::arg("array"), py::arg("place") = py::none(),
           "Takes dims, dtype and a copy of the values of an array. Levels of detail stay.\n\n"
           "Raises:\n    Error: the dtype is none of Millhopper's, or the place is not the host.")
      .def_static("from_array", &FromArray, py::arg("array"),
                  "A tensor over the memory of a C-contiguous array, without a copy. The array "
                  "must not be written while the tensor is used.\n\n"
                  "Raises:\n    Error: the array is not contiguous, or its dtype is none of "
                  "Millhopper's.")
      .def(
          "shape",
          [](const LoDTensor& tensor) {
            return std::vector<int64_t>(tensor.dims().begin(), tensor.dims().end());
          },
          "The lengths of the axes, outermost first.")
      .def_property_readonly(
          "dtype", [](const LoDTensor& tensor) { return ToString(tensor.dtype()); },
          "The name of the dtype as numpy has it; ``\"bfloat16\"`` beside.")
      .def(
          "_dtype", [](const LoDTensor& tensor) { return static_cast<int>(tensor.dtype()); },
          "The number of the dtype in framework.proto (``VarDesc.VarType``).")
      .def(
          "lod", [](const LoDTensor& tensor) { return tensor.lod(); },
          "The offsets of each level, outermost first.")
      .def(
          "set_lod",
          [](LoDTensor* tensor, const py::object& lod) {
            SetLod(tensor, LevelsOf(lod, "offsets"));
          },
          py::arg("lod"),
          "Sets the offsets of each level, outermost first.\n\n"
          "Raises:\n    Error: the offsets are no integers; or a level does not begin with 0,\n"
          "        descends, or does not fit the next.")
      .def(
          "recursive_sequence_lengths",
          [](const LoDTensor& tensor) { return LengthsOf(tensor.lod()); },
          "How many units of the next level each sequence has, level by level.")
      .def(
          "set_recursive_sequence_lengths",
          [](LoDTensor* tensor, const py::object& lengths) { SetLod(tensor, OffsetsOf(lengths)); },
          py::arg("recursive_sequence_lengths"),
          "Sets levels by their lengths.\n\n"
          "Raises:\n    Error: the lengths are no integers, or a level does not fit the next.")
      .def("has_valid_recursive_sequence_lengths", &HasValidLod,
           "Whether the last level covers the rows exactly. There may be no levels.")
      .def(
          "__array__",
          [](const LoDTensor& tensor, const py::object& dtype, const py::object& copy) {
            const py::object array = OnHostArray(tensor);
            const bool copies = !copy.is_none() && copy.cast<bool>();
            const py::object type = dtype.is_none() ? array.attr("dtype") : dtype;
            return array.attr("astype")(type, py::arg("copy") = copies);
          },
          py::arg("dtype") = py::none(), py::arg("copy") = py::none())
      .def("__dlpack__", &Export, py::kw_only(), py::arg("stream") = py::none(),
           py::arg("max_version") = py::none(), py::arg("dl_device") = py::none(),
           py::arg("copy") = py::none())
      .def("__dlpack_device__", &DlpackDevice)
      .def("_to_dlpack", &ToDlpack)
      .def("__repr__", [](const LoDTensor& tensor) { return "<LoDTensor " + Text(tensor) + ">"; })
      .def("__str__", [](const LoDTensor& tensor) {
        if (!tensor.initialized()) return Text(tensor);
        return Text(tensor) + "\n" + py::str(OnHostArray(tensor)).cast<std::string>();
      });
  module->def(
      "from_dlpack", &TakeOver, py::arg("source"),
      R"(The tensor of a DLPack capsule, or of any object with ``__dlpack__``, without a copy.

Raises:
    Error: it is on a device, not contiguous, or of a dtype that is none of Millhopper's.
    TypeError: it does not speak DLPack.

Source: Millhopper's own; it follows DLPack and the array API standard.)");
}

}  // namespace millhopper
