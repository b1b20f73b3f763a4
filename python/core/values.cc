// SPDX-License-Identifier: Apache-2.0
#include "python/core/values.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "framework/error.h"
#include "python/core/arrays.h"
#include "python/core/borrowed.h"

namespace py = pybind11;

namespace millrace {
namespace {

// Below this size, copying costs less than giving an array back to Python does.
constexpr py::ssize_t kWorthSharing = 16 << 10;
// Above this one, others may have the interpreter while it is copied.
constexpr size_t kLongCopy = 64 << 10;

// Of other modules; never destroyed, for the interpreter may be gone by then.
struct Known {
  py::object ragged = py::module_::import("millrace.ragged").attr("Ragged");
  py::object asarray = py::module_::import("numpy").attr("asarray");
  py::object uint16 = py::module_::import("numpy").attr("dtype")("uint16");
};
const Known* known = nullptr;

// A reference among as many as are known; 0 where the number of them cannot be.
using Holders = py::ssize_t;

bool OwnsItsValues(const py::array& array) {
  constexpr int kOwnsInOrder = py::detail::npy_api::NPY_ARRAY_OWNDATA_ | py::array::c_style |
                               py::detail::npy_api::NPY_ARRAY_ALIGNED_;
  return (array.flags() & kOwnsInOrder) == kOwnsInOrder && !array.base();
}

Dims DimsOf(const py::array& array) {
  if (array.ndim() == 0) return Dims{1};
  return Dims(std::vector<int64_t>(array.shape(), array.shape() + array.ndim()));
}

DataType TypeFor(const py::array& array, const SlotSpec* spec) {
  const bool bits = spec != nullptr && spec->known && spec->dtype == DataType::kBf16;
  return bits && array.dtype().is(known->uint16) ? DataType::kBf16 : TypeOf(array.dtype());
}

LoDTensor OfArray(py::array array, Holders holders, const SlotSpec* spec) {
  const bool alone = Py_REFCNT(array.ptr()) == holders + 1;
  if ((array.flags() & py::array::c_style) == 0) {
    array = py::array::ensure(array, py::array::c_style);
    if (!array) throw py::error_already_set();
    holders = 0;
  }
  LoDTensor tensor;
  const DataType type = TypeFor(array, spec);
  const auto bytes = static_cast<size_t>(array.nbytes());
  void* const values = const_cast<void*>(array.data());
  if ((alone || holders == 0) && array.nbytes() >= kWorthSharing && OwnsItsValues(array) &&
      Py_REFCNT(array.ptr()) == holders + 1) {
    const Dims dims = DimsOf(array);
    tensor.Share(Borrow(values, bytes, std::move(array)), type, dims);
    return tensor;
  }
  const Dims dims = DimsOf(array);
  if (bytes >= kLongCopy) {
    const py::gil_scoped_release release;
    tensor.Allocate(type, dims);
    std::memcpy(tensor.mutable_raw_data(), values, bytes);
  } else {
    tensor.Allocate(type, dims);
    std::memcpy(tensor.mutable_raw_data(), values, bytes);
  }
  return tensor;
}
}  // namespace
}  // namespace millrace
