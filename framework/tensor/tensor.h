// SPDX-License-Identifier: Apache-2.0
// Tensors with levels of detail, the one type of data that flows through readers and operators.
#ifndef MILLHOPPER_FRAMEWORK_TENSOR_TENSOR_H_
#define MILLHOPPER_FRAMEWORK_TENSOR_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "framework/memory/buffer.h"

namespace millhopper {

// Types of values; the numbers are those of framework.proto (VarType.Type). A type that is added
// here is added to kDataTypes, too; what depends on the type is a switch without default, so that
// the compiler finds it.
enum class DataType : int32_t {
  kBool = 0,
  kInt16 = 1,
  kInt32 = 2,
  kInt64 = 3,
  kFp16 = 4,  // IEEE half
  kFp32 = 5,
  kFp64 = 6,
  kUint64 = 19,  // the lineage's SIZE_T
  kUint8 = 20,
  kInt8 = 21,
  kBf16 = 22,     // the upper half of an fp32
  kUint16 = 120,  // these two numbers are ours; the lineage has none
  kUint32 = 121,
};

// All of them, in the order in which texts for people name them.
constexpr DataType kDataTypes[] = {
    DataType::kBool,  DataType::kInt8,   DataType::kUint8, DataType::kInt16,  DataType::kUint16,
    DataType::kInt32, DataType::kUint32, DataType::kInt64, DataType::kUint64, DataType::kFp16,
    DataType::kBf16,  DataType::kFp32,   DataType::kFp64};

size_t SizeOf(DataType type);
bool IsFloat(DataType type);
// numpy's name: "uint8", "float32"; "bfloat16" for kBf16.
const char* ToString(DataType type);
// Throws kInvalidArgument if the number is not a DataType.
DataType DataTypeFromNumber(int64_t number);
bool IsDataType(int64_t number);
// Whether all bytes are values of type kBool, 0 or 1. The compiler assumes that a bool has no other
// value, so data from outside must be checked.
inline bool AreBools(const char* bytes, size_t n) {
  uint64_t seen = 0;
  size_t i = 0;
  const auto look = [&](size_t at, size_t size) {
    uint64_t some = 0;
    __builtin_memcpy(&some, bytes + at, size);
    seen |= some;
  };
  for (; n - i >= sizeof(seen); i += sizeof(seen)) look(i, sizeof(seen));
  if (i > 0) {
    look(n - sizeof(seen), sizeof(seen));  // overlaps the bytes before it
  } else {
    for (; i < n; ++i) look(i, 1);
  }
  return (seen & ~uint64_t{0x0101010101010101}) == 0;
}
// The index of the first byte that is neither 0 nor 1; there must be one.
size_t FirstOtherThanBool(const char* bytes);

template <typename T>
constexpr DataType DataTypeOf();
template <>
constexpr DataType DataTypeOf<bool>() {
  return DataType::kBool;
}
template <>
constexpr DataType DataTypeOf<int16_t>() {
  return DataType::kInt16;
}
template <>
constexpr DataType DataTypeOf<int32_t>() {
  return DataType::kInt32;
}
template <>
constexpr DataType DataTypeOf<int64_t>() {
  return DataType::kInt64;
}
template <>
constexpr DataType DataTypeOf<float>() {
  return DataType::kFp32;
}
template <>
constexpr DataType DataTypeOf<double>() {
  return DataType::kFp64;
}
template <>
constexpr DataType DataTypeOf<uint8_t>() {
  return DataType::kUint8;
}
template <>
constexpr DataType DataTypeOf<int8_t>() {
  return DataType::kInt8;
}
template <>
constexpr DataType DataTypeOf<uint16_t>() {
  return DataType::kUint16;
}
template <>
constexpr DataType DataTypeOf<uint32_t>() {
  return DataType::kUint32;
}
template <>
constexpr DataType DataTypeOf<uint64_t>() {
  return DataType::kUint64;
}

// Conversions of the 16-bit types, round to nearest even.
float Fp16ToFloat(uint16_t bits);
uint16_t FloatToFp16(float value);
float Bf16ToFloat(uint16_t bits);
uint16_t FloatToBf16(float value);

// Axes of a tensor, as in the lineage.
constexpr size_t kMaxRank = 9;

// Lengths of the axes, outermost first; -1 where a declaration says "any". Holds kMaxRank axes in
// place, so that copying one never allocates.
class Dims {
 public:
  Dims() = default;  // rank 0
  Dims(std::initializer_list<int64_t> dims) { Assign(dims.begin(), dims.size()); }
  explicit Dims(const std::vector<int64_t>& dims) { Assign(dims.data(), dims.size()); }

  size_t size() const { return rank_; }
  bool empty() const { return rank_ == 0; }
  int64_t operator[](size_t i) const { return dims_[i]; }
  int64_t& operator[](size_t i) { return dims_[i]; }
  const int64_t* begin() const { return dims_; }
  const int64_t* end() const { return dims_ + rank_; }
  void push_back(int64_t dim);  // throws kResourceLimit past kMaxRank
  bool operator==(const Dims& other) const {
    if (rank_ != other.rank_) return false;
    for (size_t i = 0; i < rank_; ++i) {
      if (dims_[i] != other.dims_[i]) return false;
    }
    return true;
  }
  bool operator!=(const Dims& other) const { return !(*this == other); }

 private:
  void Assign(const int64_t* dims, size_t rank);

  size_t rank_ = 0;
  int64_t dims_[kMaxRank] = {};
};

// The number of values; throws kResourceLimit when it overflows or exceeds kMaxElements, and
// kInvalidArgument for a negative axis. Rank 0 has one value.
int64_t Product(const Dims& dims);
std::string ToString(const Dims& dims);  // "[128, 784]"
// Whether a tensor may have both dims: as many axes, and equal lengths where both are known.
bool MayBeSame(const Dims& left, const Dims& right);
// `dims`, with each -1 replaced by the length in `more`. Both must have as many axes.
Dims Merged(const Dims& dims, const Dims& more);

// Offsets per level, outermost first: level 0 = {0, 2, 3} says that the first sequence is made of
// the first two units of the next level (or rows, in the last level), the second of the third.
using LodLevel = PooledVector<uint64_t>;
using Lod = std::vector<LodLevel>;

// The offsets of one level as they lie in memory, possibly unaligned, little-endian.
struct LodLevelView {
  LodLevelView() = default;
  LodLevelView(const void* bytes, size_t n) : offsets(static_cast<const char*>(bytes)), count(n) {}
  explicit LodLevelView(const LodLevel& level) : LodLevelView(level.data(), level.size()) {}
  uint64_t operator[](size_t i) const {
    uint64_t offset;
    __builtin_memcpy(&offset, offsets + 8 * i, 8);
    return offset;
  }

  const char* offsets = nullptr;
  size_t count = 0;
};

// What is wrong with a level of detail: the index of the offset, and a text that follows the
// level's name.
struct LodProblem {
  size_t offset;
  std::string text;
};

// The rules of levels of detail. Every level begins at 0, does not descend, and ends at the number
// of units of the level `below`, or at `rows` if that is null. A tensor without rows may have
// levels of one offset. A level below without offsets is not reported here, but by its own check.
std::optional<LodProblem> FindLodProblem(const LodLevelView& level, const LodLevelView* below,
                                         uint64_t rows);
// Throws kInvalidArgument if a level breaks them.
void CheckLod(const Lod& lod, uint64_t rows);
std::string ToString(const Lod& lod);

// Values with dims, a type, a place and levels of detail. Copies share the values: a shared buffer
// is never written (mutable_data and Allocate take another one). A tensor is not thread-safe, but
// any number of threads may read shared values.
class LoDTensor {
 public:
  LoDTensor() = default;

  DataType dtype() const { return dtype_; }
  const Dims& dims() const { return dims_; }
  const Lod& lod() const { return lod_; }
  Place place() const;
  // A tensor without values counts as on the host.
  bool on_host() const { return !buffer_ || buffer_->on_host(); }
  int64_t numel() const { return numel_; }
  // The length of the leading axis; 0 without axes.
  uint64_t rows() const { return dims_.empty() ? 0 : static_cast<uint64_t>(dims_[0]); }
  // Sequences of the outermost level, or rows without levels of detail.
  uint64_t instances() const { return lod_.empty() ? rows() : lod_.front().size() - 1; }
  size_t bytes() const { return static_cast<size_t>(numel_) * SizeOf(dtype_); }
  // False until the first Allocate or Share.
  bool initialized() const { return static_cast<bool>(buffer_); }
  const Ref<Buffer>& buffer() const { return buffer_; }

  // Gives the tensor a type and dims on the host, without levels of detail and with undefined
  // values. Keeps its buffer if that is not shared and large enough.
  void Allocate(DataType dtype, const Dims& dims) {
    if (dtype == dtype_ && dims == dims_ && buffer_ && buffer_->writable()) {
      lod_.clear();
    } else {
      AllocateAnew(dtype, dims);
    }
  }
  // Gives the tensor a type and dims without values and without levels of detail, for who asks for
  // these alone: initialized() is false, and data() throws.
  void Outline(DataType dtype, const Dims& dims);
  // Takes a buffer that holds these values; the tensor shares it from now on.
  void Share(Ref<Buffer> buffer, DataType dtype, const Dims& dims);
  // Other dims for the same values; throws kInvalidArgument when their number differs.
  void Reshape(const Dims& dims);
  // Throws as CheckLod does; an empty lod is always right.
  void set_lod(Lod lod);
  // The lod, unchecked, for callers that build it from checked parts. Its memory is reused.
  Lod* mutable_lod_unchecked() { return &lod_; }
  // Forgets the values and keeps nothing.
  void Clear();

  const void* raw_data() const { return buffer_ ? buffer_->data() : nullptr; }
  void* mutable_raw_data() {
    if (__builtin_expect(!buffer_ || !buffer_->writable(), 0)) TakeCopy();
    return buffer_->data();
  }
  // Throws kInvalidArgument when the tensor holds another type or is on a device.
  template <typename T>
  const T* data() const {
    CheckType(DataTypeOf<T>());
    return reinterpret_cast<const T*>(buffer_->data());
  }
  // As data(); first copies the values if they are shared.
  template <typename T>
  T* mutable_data() {
    CheckType(DataTypeOf<T>());
    return static_cast<T*>(mutable_raw_data());
  }
  // Allocate and mutable_data in one.
  template <typename T>
  T* Allocate(const Dims& dims) {
    Allocate(DataTypeOf<T>(), dims);
    return reinterpret_cast<T*>(buffer_->data());
  }
  // The only value of a tensor of one element, for conditions and counters.
  template <typename T>
  T scalar() const {
    if (__builtin_expect(numel_ != 1, 0)) ThrowNotScalar();
    return *data<T>();
  }

  // A tensor on the host with these values: itself, or a copy from its device.
  LoDTensor OnHost() const;

 private:
  void CheckType(DataType wanted) const {
    if (__builtin_expect(wanted != dtype_ || !buffer_ || !buffer_->on_host(), 0)) {
      ThrowWrongType(wanted);
    }
  }
  [[noreturn]] void ThrowNotScalar() const;
  [[noreturn]] void ThrowWrongType(DataType wanted) const;
  void AllocateAnew(DataType dtype, const Dims& dims);
  void TakeCopy();

  DataType dtype_ = DataType::kFp32;
  Dims dims_;
  int64_t numel_ = 0;
  Lod lod_;
  Ref<Buffer> buffer_;
};

// "float32 [128, 784]", for error texts.
std::string Describe(const LoDTensor& tensor);
// Counts memory of values that was taken ahead of need (MemoryScope) as needed now. Values that are
// shared are left as they are, because other holders may not need them now.
void SetNeeded(const std::vector<LoDTensor>& element);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_TENSOR_TENSOR_H_
