// SPDX-License-Identifier: Apache-2.0
#include "python/core/values/dlpack.h"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "python/core/interpreter/borrowed.h"

namespace py = pybind11;

namespace millhopper {
namespace {

// The struct as every library lays it out.
struct DlTensor {
  void* data;
  int32_t device_type;
  int32_t device_number;
  int32_t rank;
  uint8_t type_code;
  uint8_t type_bits;
  uint16_t type_lanes;
  int64_t* shape;
  int64_t* strides;  // in values; null if row by row
  uint64_t byte_offset;
};
struct DlManaged {
  DlTensor tensor;
  void* context;
  void (*deleter)(DlManaged*);
};

constexpr char kFresh[] = "dltensor";
constexpr char kUsed[] = "used_dltensor";
enum DeviceType : int32_t { kHost = 1, kCuda = 2, kCudaHost = 3 };
enum TypeCode : uint8_t { kInt = 0, kUint = 1, kFloat = 2, kBfloat = 4, kBoolean = 6 };

std::pair<uint8_t, uint8_t> CodeOf(DataType type) {
  const auto bits = static_cast<uint8_t>(8 * SizeOf(type));
  switch (type) {
    case DataType::kBool:
      return {kBoolean, bits};
    case DataType::kUint8:
    case DataType::kUint16:
    case DataType::kUint32:
    case DataType::kUint64:
      return {kUint, bits};
    case DataType::kInt8:
    case DataType::kInt16:
    case DataType::kInt32:
    case DataType::kInt64:
      return {kInt, bits};
    case DataType::kFp16:
    case DataType::kFp32:
    case DataType::kFp64:
      return {kFloat, bits};
    case DataType::kBf16:
      return {kBfloat, bits};
  }
  Throw(ErrorCode::kInternal, "no DLPack type for ", ToString(type));
}

DataType TypeOf(const DlTensor& tensor) {
  for (const DataType type : kDataTypes) {
    const auto code = std::make_pair(tensor.type_code, tensor.type_bits);
    if (tensor.type_lanes == 1 && CodeOf(type) == code) return type;
  }
  Throw(ErrorCode::kInvalidArgument, "DLPack type ", int{tensor.type_code}, " of ",
        int{tensor.type_bits}, " bits and ", tensor.type_lanes, " lanes is none of Millhopper's");
}

// The data that a capsule of ours keeps.
struct Exported {
  DlManaged managed = {};
  LoDTensor tensor;
  std::vector<int64_t> shape;
};

bool RowByRow(const DlTensor& tensor) {
  if (tensor.strides == nullptr) return true;
  int64_t expected = 1;
  for (int32_t axis = tensor.rank; axis-- > 0;) {
    if (tensor.shape[axis] == 0) return true;
    if (tensor.shape[axis] != 1 && tensor.strides[axis] != expected) return false;
    expected *= tensor.shape[axis];
  }
  return true;
}

}  // namespace

py::tuple DlpackDevice(const LoDTensor& tensor) {
  if (tensor.place().is_cpu()) return py::make_tuple(int{kHost}, 0);
  const std::string name = tensor.place().name();
  return py::make_tuple(int{kCuda}, std::atoi(name.substr(name.find(':') + 1).c_str()));
}

py::capsule ToDlpack(const LoDTensor& tensor) {
  Require(tensor.initialized(), "a tensor without values has nothing to hand over");
  auto exported = std::make_unique<Exported>();
  exported->tensor = tensor;
  exported->shape.assign(tensor.dims().begin(), tensor.dims().end());
  const py::tuple device = DlpackDevice(tensor);
  const auto [code, bits] = CodeOf(tensor.dtype());
  exported->managed.tensor = {tensor.buffer()->data(),
                              device[0].cast<int32_t>(),
                              device[1].cast<int32_t>(),
                              static_cast<int32_t>(exported->shape.size()),
                              code,
                              bits,
                              1,
                              exported->shape.data(),
                              nullptr,
                              0};
  exported->managed.context = exported.get();
  exported->managed.deleter = [](DlManaged* managed) {
    delete static_cast<Exported*>(managed->context);
  };
  py::capsule capsule(&exported->managed, kFresh, [](PyObject* object) {
    // A consumer renames the capsule that it has taken, and calls the deleter itself later.
    if (PyCapsule_IsValid(object, kFresh) == 0) return;
    auto* const managed = static_cast<DlManaged*>(PyCapsule_GetPointer(object, kFresh));
    managed->deleter(managed);
  });
  static_cast<void>(exported.release());
  return capsule;
}

LoDTensor FromDlpack(const py::object& source) {
  py::object capsule = source;
  if (PyCapsule_CheckExact(source.ptr()) == 0) {
    if (!py::hasattr(source, "__dlpack__")) {
      throw py::type_error("neither a DLPack capsule nor an object with __dlpack__: " +
                           py::repr(py::type::of(source)).cast<std::string>());
    }
    capsule = source.attr("__dlpack__")();
  }
  Require(PyCapsule_IsValid(capsule.ptr(), kFresh) != 0,
          "this is no DLPack capsule, or one that has been used");
  auto* const managed = static_cast<DlManaged*>(PyCapsule_GetPointer(capsule.ptr(), kFresh));
  const DlTensor& foreign = managed->tensor;
  Require(foreign.device_type == kHost || foreign.device_type == kCudaHost,
          "the tensor is on a device; only tensors on the host can be taken over");
  Require(foreign.rank >= 0 && RowByRow(foreign),
          "the tensor is not laid out row by row; make a contiguous copy first");
  const DataType type = TypeOf(foreign);
  const Dims dims(std::vector<int64_t>(foreign.shape, foreign.shape + foreign.rank));
  const size_t bytes = CheckedProduct(static_cast<size_t>(Product(dims)), SizeOf(type));
  PyCapsule_SetName(capsule.ptr(), kUsed);
  const py::capsule owner(managed, [](void* taken) {
    auto* const mine = static_cast<DlManaged*>(taken);
    if (mine->deleter != nullptr) mine->deleter(mine);
  });
  LoDTensor tensor;
  tensor.Share(Borrow(static_cast<char*>(foreign.data) + foreign.byte_offset, bytes, owner), type,
               dims);
  return tensor;
}

}  // namespace millhopper
