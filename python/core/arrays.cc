// SPDX-License-Identifier: Apache-2.0
#include "python/core/arrays.h"

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/error.h"

namespace py = pybind11;

namespace millrace {
namespace {

py::dtype MakeDtype(DataType type) {
  switch (type) {
    case DataType::kBool:
      return py::dtype::of<bool>();
    case DataType::kInt8:
      return py::dtype::of<int8_t>();
    case DataType::kInt16:
      return py::dtype::of<int16_t>();
    case DataType::kInt32:
      return py::dtype::of<int32_t>();
    case DataType::kInt64:
      return py::dtype::of<int64_t>();
    case DataType::kUint8:
      return py::dtype::of<uint8_t>();
    case DataType::kFp16:
      return py::dtype("e");
    case DataType::kFp32:
      return py::dtype::of<float>();
    case DataType::kFp64:
      return py::dtype::of<double>();
    case DataType::kBf16:
      return py::dtype::of<uint16_t>();
  }
  Throw(ErrorCode::kInternal, "no array can hold ", ToString(type));
}

// Made once a type, never destroyed: the interpreter may be gone by then.
const py::dtype& DtypeOf(DataType type) {
  constexpr size_t kTypes = 32;
  static auto* const dtypes = new std::array<py::dtype*, kTypes>{};
  py::dtype*& dtype = dtypes->at(static_cast<size_t>(type));
  if (dtype == nullptr) dtype = new py::dtype(MakeDtype(type));
  return *dtype;
}

// What keeps a value alive for as long as arrays show parts of it.
template <typename T>
py::capsule Keep(T* value) {
  return py::capsule(value, [](void* kept) { delete static_cast<T*>(kept); });
}

void SetReadOnly(const py::array& array) {
  py::detail::array_proxy(array.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
}

const py::object& RaggedClass() {
  static auto* const cls = new py::object(py::module_::import("millrace.ragged").attr("Ragged"));
  return *cls;
}

}  // namespace

DataType TypeOf(const py::dtype& dtype) {
  // The usual ones by what numpy calls their kind and size; asking for a name takes microseconds.
  const auto* const layout = py::detail::array_descriptor_proxy(dtype.ptr());
  if (layout->byteorder == '=' || layout->byteorder == '|') {
    switch (layout->kind << 8 | layout->elsize) {
      case 'b' << 8 | 1:
        return DataType::kBool;
      case 'u' << 8 | 1:
        return DataType::kUint8;
      case 'i' << 8 | 1:
        return DataType::kInt8;
      case 'i' << 8 | 2:
        return DataType::kInt16;
      case 'i' << 8 | 4:
        return DataType::kInt32;
      case 'i' << 8 | 8:
        return DataType::kInt64;
      case 'f' << 8 | 2:
        return DataType::kFp16;
      case 'f' << 8 | 4:
        return DataType::kFp32;
      case 'f' << 8 | 8:
        return DataType::kFp64;
    }
  }
  const auto name = dtype.attr("name").cast<std::string>();
  const bool swapped = !dtype.attr("isnative").cast<bool>();
  for (int64_t number = 0; number < 256 && !swapped; ++number) {
    if (IsDataType(number) && name == ToString(DataTypeFromNumber(number))) {
      return DataTypeFromNumber(number);
    }
  }
  Throw(ErrorCode::kInvalidArgument, "values of ", py::repr(dtype).cast<std::string>(),
        " are none of Millrace's: bool, int8 to int64, uint8, float16 to float64, bfloat16");
}

py::array ToArray(const LoDTensor& tensor) {
  const Dims& dims = tensor.dims();
  std::vector<py::ssize_t> shape(dims.begin(), dims.end());
  if (!tensor.initialized()) return py::array(DtypeOf(tensor.dtype()), std::move(shape));
  const bool writable = tensor.buffer()->writable();
  py::array array(DtypeOf(tensor.dtype()), std::move(shape), tensor.buffer()->data(),
                  Keep(new Ref<Buffer>(tensor.buffer())));
  if (!writable) SetReadOnly(array);
  return array;
}

py::object ToPython(LoDTensor* tensor) {
  py::array values = ToArray(*tensor);
  if (tensor->lod().empty()) return std::move(values);
  auto* const lod = new Lod(std::move(*tensor->mutable_lod_unchecked()));
  tensor->mutable_lod_unchecked()->clear();
  const py::capsule kept = Keep(lod);
  py::tuple offsets(lod->size());
  for (size_t level = 0; level < lod->size(); ++level) {
    // Below 2^63: offsets are checked against the number of values.
    const auto* numbers = reinterpret_cast<const int64_t*>((*lod)[level].data());
    py::array array(DtypeOf(DataType::kInt64), {(*lod)[level].size()}, numbers, kept);
    SetReadOnly(array);
    offsets[level] = std::move(array);
  }
  return RaggedClass()(std::move(values), std::move(offsets));
}

}  // namespace millrace
