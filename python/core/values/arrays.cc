// SPDX-License-Identifier: Apache-2.0
#include "python/core/values/arrays.h"

#include <string>
#include <utility>

#include "framework/base/error.h"
#include "python/core/interpreter/imports.h"
#include "python/core/interpreter/numpy.h"

namespace py = pybind11;

namespace millhopper {
namespace {

constexpr int kNumberOfFloat16 = 23;  // NPY_HALF, which pybind11 does not know

// Keeps the buffer for as long as arrays show it. The capsule holds the reference itself, since
// there is one for each array.
py::capsule Keep(const Ref<Buffer>& buffer) {
  py::capsule kept(buffer.get(), [](void* held) { static_cast<Buffer*>(held)->Release(); });
  buffer->Retain();
  return kept;
}

// Keeps a value alive for as long as arrays show parts of it.
template <typename T>
py::capsule Keep(T* value) {
  return py::capsule(value, [](void* kept) { delete static_cast<T*>(kept); });
}

}  // namespace

DataType TypeOf(const py::dtype& dtype) {
  // Finds the usual types by their number in numpy, because asking for a name takes microseconds.
  // The number has the same place in the descriptor in numpy 1 and 2; the size has not.
  const auto* const layout = py::detail::array_descriptor_proxy(dtype.ptr());
  if (layout->byteorder == '=' || layout->byteorder == '|') {
    switch (layout->type_num) {
      case py::detail::npy_api::NPY_BOOL_:
        return DataType::kBool;
      case py::detail::npy_api::NPY_UBYTE_:
        return DataType::kUint8;
      case py::detail::npy_api::NPY_BYTE_:
        return DataType::kInt8;
      case py::detail::npy_api::NPY_SHORT_:
        return DataType::kInt16;
      case py::detail::npy_api::NPY_USHORT_:
        return DataType::kUint16;
      case py::detail::npy_api::NPY_UINT_:
        return DataType::kUint32;
      case py::detail::npy_api::NPY_ULONG_:
      case py::detail::npy_api::NPY_ULONGLONG_:
        return DataType::kUint64;
      case py::detail::npy_api::NPY_INT_:
        return DataType::kInt32;
      case py::detail::npy_api::NPY_LONG_:
      case py::detail::npy_api::NPY_LONGLONG_:
        return DataType::kInt64;
      case kNumberOfFloat16:
        return DataType::kFp16;
      case py::detail::npy_api::NPY_FLOAT_:
        return DataType::kFp32;
      case py::detail::npy_api::NPY_DOUBLE_:
        return DataType::kFp64;
    }
  }
  const auto name = dtype.attr("name").cast<std::string>();
  const bool swapped = !dtype.attr("isnative").cast<bool>();
  for (const DataType type : kDataTypes) {
    if (!swapped && name == ToString(type)) return type;
  }
  const bool is_time = dtype.kind() == 'M';
  Throw(
      ErrorCode::kInvalidArgument, "values of ", py::repr(dtype).cast<std::string>(),
      " are none of Millhopper's: bool, int8 to int64, uint8 to uint64, float16 to float64, "
      "bfloat16",
      is_time ? "; array.astype('datetime64[s]').astype('int64') has the seconds since 1970" : "");
}

py::array ToArray(const LoDTensor& tensor) {
  const Dims& dims = tensor.dims();
  if (!tensor.initialized()) return NewArray(tensor.dtype(), dims.begin(), dims.size());
  const bool writable = tensor.buffer()->writable();
  return ArrayOver(tensor.dtype(), dims.begin(), dims.size(), tensor.buffer()->data(), writable,
                   Keep(tensor.buffer()));
}

py::object ToPython(LoDTensor* tensor, bool is_text) {
  py::array values = ToArray(*tensor);
  if (tensor->lod().empty()) return std::move(values);
  auto* const lod = new Lod(std::move(*tensor->mutable_lod_unchecked()));
  tensor->mutable_lod_unchecked()->clear();
  const py::capsule kept = Keep(lod);
  py::tuple offsets(lod->size());
  for (size_t level = 0; level < lod->size(); ++level) {
    // It is below 2^63: offsets are checked against the number of values.
    const auto count = static_cast<int64_t>((*lod)[level].size());
    offsets[level] = ArrayOver(DataType::kInt64, &count, 1, (*lod)[level].data(), true, kept);
  }
  const py::object& type = is_text ? Imported().texts : Imported().ragged;
  return type(std::move(values), std::move(offsets));
}

}  // namespace millhopper
