// SPDX-License-Identifier: Apache-2.0
#include "framework/tensor/tensor.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/memory/memory.h"
#include "framework/memory/place.h"

namespace millhopper {

size_t SizeOf(DataType type) {
  switch (type) {
    case DataType::kBool:
    case DataType::kUint8:
    case DataType::kInt8:
      return 1;
    case DataType::kInt16:
    case DataType::kUint16:
    case DataType::kFp16:
    case DataType::kBf16:
      return 2;
    case DataType::kInt32:
    case DataType::kUint32:
    case DataType::kFp32:
      return 4;
    case DataType::kInt64:
    case DataType::kUint64:
    case DataType::kFp64:
      return 8;
  }
  Throw(ErrorCode::kInternal, "data type ", static_cast<int>(type), " has no size");
}

bool IsFloat(DataType type) {
  return type == DataType::kFp16 || type == DataType::kBf16 || type == DataType::kFp32 ||
         type == DataType::kFp64;
}

const char* ToString(DataType type) {
  switch (type) {
    case DataType::kBool:
      return "bool";
    case DataType::kInt16:
      return "int16";
    case DataType::kInt32:
      return "int32";
    case DataType::kInt64:
      return "int64";
    case DataType::kFp16:
      return "float16";
    case DataType::kFp32:
      return "float32";
    case DataType::kFp64:
      return "float64";
    case DataType::kUint8:
      return "uint8";
    case DataType::kInt8:
      return "int8";
    case DataType::kBf16:
      return "bfloat16";
    case DataType::kUint16:
      return "uint16";
    case DataType::kUint32:
      return "uint32";
    case DataType::kUint64:
      return "uint64";
  }
  return "unknown";
}

bool IsDataType(int64_t number) {
  return (number >= 0 && number <= 6) || (number >= 19 && number <= 22) || number == 120 ||
         number == 121;
}

size_t FirstOtherThanBool(const char* bytes) {
  size_t i = 0;
  while (static_cast<unsigned char>(bytes[i]) <= 1) ++i;
  return i;
}

DataType DataTypeFromNumber(int64_t number) {
  if (!IsDataType(number)) {
    std::string types;
    for (const DataType type : kDataTypes) {
      types += StrCat(types.empty() ? "" : ", ", static_cast<int>(type), " ", ToString(type));
    }
    Throw(ErrorCode::kInvalidArgument, number, " is no data type; there are ", types);
  }
  return static_cast<DataType>(number);
}

float Bf16ToFloat(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

uint16_t FloatToBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40);  // NaN
  bits += 0x7fffu + ((bits >> 16) & 1);
  return static_cast<uint16_t>(bits >> 16);
}

float Fp16ToFloat(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1f;
  const uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24
    const float magnitude = static_cast<float>(mantissa) * 5.9604644775390625e-8f;
    return sign != 0 ? -magnitude : magnitude;
  }
  const uint32_t wide =
      sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | (mantissa << 13);
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

uint16_t FloatToFp16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u;   // NaN
  if (magnitude >= 0x47800000u) return sign | 0x7c00u;  // 65536 and more
  if (magnitude < 0x38800000u) {  // below the smallest normal half: let the adder round
    float absolute;
    std::memcpy(&absolute, &magnitude, sizeof(absolute));
    absolute += 0.5f;
    uint32_t shifted;
    std::memcpy(&shifted, &absolute, sizeof(shifted));
    return sign | static_cast<uint16_t>(shifted - 0x3f000000u);
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1);
  return sign | static_cast<uint16_t>((rounded - 0x38000000u) >> 13);
}

void Dims::Assign(const int64_t* dims, size_t rank) {
  if (rank > kMaxRank) {
    Throw(ErrorCode::kResourceLimit, "a tensor of rank ", rank, "; the limit is ", kMaxRank);
  }
  rank_ = rank;
  std::copy(dims, dims + rank, dims_);
}

void Dims::push_back(int64_t dim) {
  if (rank_ == kMaxRank) {
    Throw(ErrorCode::kResourceLimit, "a tensor of rank ", rank_ + 1, "; the limit is ", kMaxRank);
  }
  dims_[rank_++] = dim;
}

int64_t Product(const Dims& dims) {
  int64_t product = 1;
  bool overflow = false;
  for (const int64_t dim : dims) {
    if (dim < 0) {  // not Require, which would make the text every time
      Throw(ErrorCode::kInvalidArgument, "dims ", ToString(dims), " of a tensor with values");
    }
    if (dim == 0) return 0;
    overflow |= __builtin_mul_overflow(product, dim, &product) || product > kMaxElements;
  }
  if (overflow) {
    Throw(ErrorCode::kResourceLimit, "a tensor of dims ", ToString(dims), " has more than ",
          kMaxElements, " values");
  }
  return product;
}

std::string ToString(const Dims& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(dims[i]);
  }
  return text + "]";
}

bool MayBeSame(const Dims& left, const Dims& right) {
  if (left.size() != right.size()) return false;
  for (size_t i = 0; i < left.size(); ++i) {
    if (left[i] >= 0 && right[i] >= 0 && left[i] != right[i]) return false;
  }
  return true;
}

Dims Merged(const Dims& dims, const Dims& more) {
  Dims merged = dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (merged[i] < 0) merged[i] = more[i];
  }
  return merged;
}

std::string ToString(const Lod& lod) {
  std::string text = "[";
  for (size_t i = 0; i < lod.size(); ++i) {
    text += i > 0 ? ", [" : "[";
    for (size_t k = 0; k < lod[i].size(); ++k) {
      if (k > 0) text += ", ";
      text += std::to_string(lod[i][k]);
    }
    text += "]";
  }
  return text + "]";
}

std::optional<LodProblem> FindLodProblem(const LodLevelView& level, const LodLevelView* below,
                                         uint64_t rows) {
  if (level.count < 2 && !(level.count == 1 && rows == 0)) {
    return LodProblem{0, StrCat("has ", level.count, " offsets; at least 2 are needed")};
  }
  if (level[0] != 0) return LodProblem{0, StrCat("begins at ", level[0], " instead of 0")};
  for (size_t k = 1; k < level.count; ++k) {
    if (level[k - 1] <= level[k]) continue;
    return LodProblem{k, StrCat("descends from ", level[k - 1], " to ", level[k])};
  }
  if (below != nullptr && below->count == 0) return std::nullopt;
  const size_t last = level.count - 1;
  const uint64_t units = below == nullptr ? rows : below->count - 1;
  if (level[last] == units) return std::nullopt;
  return LodProblem{last, StrCat("ends at ", level[last], " but there are ", units,
                                 below == nullptr ? " rows" : " sequences below")};
}

void CheckLod(const Lod& lod, uint64_t rows) {
  for (size_t i = 0; i < lod.size(); ++i) {
    const bool last = i + 1 == lod.size();
    const LodLevelView below = last ? LodLevelView() : LodLevelView(lod[i + 1]);
    const auto problem = FindLodProblem(LodLevelView(lod[i]), last ? nullptr : &below, rows);
    if (!problem) continue;
    Throw(ErrorCode::kInvalidArgument, "level ", i, " of the levels of detail ", problem->text);
  }
}

void LoDTensor::AllocateAnew(DataType dtype, const Dims& dims) {
  const int64_t numel = Product(dims);
  const size_t size = SizeOf(dtype);
  const size_t bytes = static_cast<size_t>(numel) * size;
  if (!buffer_ || !buffer_->writable() || buffer_->capacity() < bytes) {
    buffer_ = Ref<Buffer>();  // so that its memory can be taken again
    buffer_ = BufferPool::At(Place()).Take(bytes);
  }
  dtype_ = dtype;
  dims_ = dims;
  numel_ = numel;
  lod_.clear();
}

void LoDTensor::Outline(DataType dtype, const Dims& dims) {
  numel_ = Product(dims);
  buffer_ = Ref<Buffer>();
  dtype_ = dtype;
  dims_ = dims;
  lod_.clear();
}

void LoDTensor::Share(Ref<Buffer> buffer, DataType dtype, const Dims& dims) {
  const int64_t numel = Product(dims);
  if (buffer->capacity() / SizeOf(dtype) < static_cast<size_t>(numel)) {
    Throw(ErrorCode::kInternal, "a buffer of ", buffer->capacity(), " bytes is too small for ",
          millhopper::ToString(dtype), " ", millhopper::ToString(dims));
  }
  buffer_ = std::move(buffer);
  dtype_ = dtype;
  dims_ = dims;
  numel_ = numel;
  lod_.clear();
}

void LoDTensor::Reshape(const Dims& dims) {
  if (Product(dims) != numel_) {
    Throw(ErrorCode::kInvalidArgument, "dims ", millhopper::ToString(dims), " do not fit the ",
          numel_, " values of dims ", millhopper::ToString(dims_));
  }
  if (!lod_.empty() && (dims.empty() || dims_.empty() || dims[0] != dims_[0])) lod_.clear();
  dims_ = dims;
}

void LoDTensor::set_lod(Lod lod) {
  CheckLod(lod, rows());
  lod_ = std::move(lod);
}

Place LoDTensor::place() const { return buffer_ ? buffer_->place() : Place(); }

void LoDTensor::Clear() { *this = LoDTensor(); }

void LoDTensor::TakeCopy() {
  Require(initialized(), "a tensor without values cannot be written in place");
  if (!place().is_cpu()) {
    Throw(ErrorCode::kInvalidArgument, "values on ", place().name(),
          " cannot be written by the host");
  }
  Ref<Buffer> own = BufferPool::At(Place()).Take(bytes());
  std::memcpy(own->data(), buffer_->data(), bytes());
  buffer_ = std::move(own);
}

LoDTensor LoDTensor::OnHost() const {
  if (!buffer_ || buffer_->place().is_cpu()) return *this;
  LoDTensor host;
  host.Allocate(dtype_, dims_);
  if (buffer_->busy_until() != nullptr) buffer_->busy_until()->Wait();
  place().device()->CopyToHost(host.buffer_->data(), buffer_->data(), bytes());
  host.lod_ = lod_;
  return host;
}

void LoDTensor::ThrowNotScalar() const {
  Throw(ErrorCode::kInvalidArgument, "a tensor of one value is needed here, not one of dims ",
        millhopper::ToString(dims_));
}

void LoDTensor::ThrowWrongType(DataType wanted) const {
  Require(initialized(), "a tensor without values is read; nothing has been written to it yet");
  Require(place().is_cpu(), "the values are on ", place().name(), " but are needed on the cpu");
  Throw(ErrorCode::kInvalidArgument, "the tensor is ", millhopper::ToString(dtype_), " but ",
        millhopper::ToString(wanted), " is needed");
}

std::string Describe(const LoDTensor& tensor) {
  if (!tensor.initialized()) return "no value";
  return std::string(ToString(tensor.dtype())) + " " + ToString(tensor.dims());
}

void SetNeeded(const std::vector<LoDTensor>& element) {
  for (const LoDTensor& tensor : element) {
    if (tensor.initialized() && tensor.buffer()->HasOneReference()) tensor.buffer()->set_needed();
  }
}

}  // namespace millhopper
