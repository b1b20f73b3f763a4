// SPDX-License-Identifier: Apache-2.0
// The serialised form of a LoDTensor, byte for byte that of the lineage (save, load, records of
// RecordIO). All integers little-endian:
//
//   u32 version 0 | u64 levels | per level: u64 bytes, that many bytes of u64 offsets |
//   u32 version 0 | i32 size of a TensorDesc | TensorDesc (protobuf) | values, row-major
//
// Programs before 2017-12-28 wrote the levels after the values and only one version word. Both
// layouts are read; the one above is written. A TensorDesc is field 1 (varint) the data type, field
// 2 (varint, repeated or packed) the dims.
#ifndef MILLHOPPER_FRAMEWORK_TENSOR_TENSOR_STREAM_H_
#define MILLHOPPER_FRAMEWORK_TENSOR_TENSOR_STREAM_H_

#include <cstddef>
#include <string>

#include "framework/base/limits.h"
#include "framework/tensor/rows.h"
#include "framework/tensor/tensor.h"

namespace millhopper {

// A tensor in serialised bytes: nothing is copied, pointers are into those bytes.
struct TensorView {
  DataType dtype = DataType::kFp32;
  Dims dims;
  size_t levels = 0;
  LodLevelView lod[kMaxLodLevels];
  const char* values = nullptr;
  size_t value_bytes = 0;
  size_t size = 0;  // of the whole tensor, in bytes
};

// Reads the tensor at the beginning of `size` bytes. Every declared length is checked against the
// bytes that are left; levels of detail are checked as CheckLod does, and bools must be 0 or 1.
// Throws kDataLoss with the byte of `bytes` and what is wrong there.
TensorView ParseTensor(const char* bytes, size_t size);

// A tensor on the host with a copy of what the view shows.
LoDTensor ToTensor(const TensorView& view);

// Appends the bytes before the values in the serialised form. Every tensor of this type, these dims
// and these levels begins with them if it was written in the layout above.
void AppendTensorHeader(DataType dtype, const Dims& dims, const Lod& lod, std::string* out);

// Appends the serialised tensor. Throws kInvalidArgument unless it has values and is on the host.
void AppendTensor(const LoDTensor& tensor, std::string* out);

// The header of one sequence (one level of detail with offsets 0 and its length) as
// AppendTensorHeader writes it. All but the length is known, so the header is compared, which is
// faster than parsing. Only lengths below 128 match; ParseTensor reads longer ones and headers that
// say the same in other bytes.
class SequenceHeader {
 public:
  // dims[0] does not matter.
  SequenceHeader(DataType dtype, Dims dims);
  size_t size() const { return bytes_.size(); }
  // The length if these size() bytes are such a header, else -1.
  int64_t Match(const char* bytes) const {
    const auto length = static_cast<unsigned char>(bytes[dim_at_]);
    uint64_t offset;
    __builtin_memcpy(&offset, bytes + offset_at_, sizeof(offset));
    if (length >= 128 || offset != length) return -1;
    return Same(bytes, 0, offset_at_) && Same(bytes, offset_at_ + sizeof(offset), dim_at_) &&
                   Same(bytes, dim_at_ + 1, bytes_.size())
               ? length
               : -1;
  }

 private:
  bool Same(const char* bytes, size_t begin, size_t end) const {
    return __builtin_memcmp(bytes + begin, bytes_.data() + begin, end - begin) == 0;
  }

  std::string bytes_;
  size_t offset_at_ = 0;  // where the length stands in the level, and in the dims as a varint
  size_t dim_at_ = 0;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_TENSOR_TENSOR_STREAM_H_
