// SPDX-License-Identifier: Apache-2.0
#include "framework/tensor/tensor_stream.h"

#include <cstdint>
#include <cstring>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/memory/place.h"

namespace millhopper {
namespace {

// Tags of a TensorDesc on the wire: field number and wire type.
constexpr uint64_t kDataTypeTag = 1 << 3 | 0;
constexpr uint64_t kDimTag = 2 << 3 | 0;
constexpr uint64_t kPackedDimsTag = 2 << 3 | 2;

// Bytes in order. Positions in error texts count from the beginning of the tensor.
class Cursor {
 public:
  Cursor(const char* bytes, size_t size) : bytes_(bytes), size_(size) {}

  size_t position() const { return position_; }
  size_t left() const { return size_ - position_; }
  const char* here() const { return bytes_ + position_; }

  template <typename... Parts>
  [[noreturn]] void Fail(size_t position, const Parts&... parts) const {
    Throw(ErrorCode::kDataLoss, "byte ", position, " of a serialised tensor: ", parts...);
  }

  const char* Skip(uint64_t size, const char* what) {
    if (size > left()) {
      Fail(position_, what, ": ", size, " bytes are needed, but ", left(), " are left");
    }
    const char* place = here();
    position_ += size;
    return place;
  }

  template <typename T>
  T Number(const char* what) {
    T number;
    std::memcpy(&number, Skip(sizeof(T), what), sizeof(T));
    return number;
  }

  // A protobuf varint, which has to end before `end`.
  uint64_t Varint(size_t end, const char* what) {
    const size_t begin = position_;
    uint64_t number = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (position_ == end) Fail(begin, what, " is cut off");
      const auto byte = static_cast<uint8_t>(bytes_[position_++]);
      if (shift == 63 && byte > 1) break;
      number |= uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return number;
    }
    Fail(begin, what, " has more than 64 bits");
  }

 private:
  const char* bytes_;
  size_t size_;
  size_t position_ = 0;
};

void ReadDim(Cursor* cursor, size_t end, Dims* dims) {
  const size_t begin = cursor->position();
  const auto dim = static_cast<int64_t>(cursor->Varint(end, "a dim"));
  if (dim < 0) cursor->Fail(begin, "dim ", dim, " is negative");
  if (dims->size() == kMaxRank) {
    cursor->Fail(begin, "more than ", kMaxRank, " dims");
  }
  dims->push_back(dim);
}

// The TensorDesc of `size` bytes.
void ReadDescription(Cursor* cursor, int32_t size, TensorView* view) {
  const size_t begin = cursor->position();
  if (size < 0 || static_cast<size_t>(size) > kMaxTensorDescBytes) {
    cursor->Fail(begin - 4, "the description's size is ", size, "; the limit is ",
                 kMaxTensorDescBytes);
  }
  const size_t end = begin + static_cast<size_t>(size);
  if (static_cast<size_t>(size) > cursor->left()) {
    cursor->Fail(begin - 4, "the description's size is ", size, ", but ", cursor->left(),
                 " bytes are left");
  }
  bool typed = false;
  while (cursor->position() < end) {
    const size_t field = cursor->position();
    const uint64_t tag = cursor->Varint(end, "a tag");
    if (tag == kDataTypeTag) {
      const auto type = static_cast<int64_t>(cursor->Varint(end, "the data type"));
      if (!IsDataType(type)) cursor->Fail(field, type, " is not a type of data");
      if (typed) cursor->Fail(field, "a second data type");
      view->dtype = static_cast<DataType>(type);
      typed = true;
    } else if (tag == kDimTag) {
      ReadDim(cursor, end, &view->dims);
    } else if (tag == kPackedDimsTag) {
      const uint64_t packed = cursor->Varint(end, "the size of packed dims");
      if (packed > end - cursor->position()) {
        cursor->Fail(field, "packed dims of ", packed, " bytes, but ", end - cursor->position(),
                     " are left of the description");
      }
      const size_t packed_end = cursor->position() + packed;
      while (cursor->position() < packed_end) ReadDim(cursor, packed_end, &view->dims);
    } else {
      cursor->Fail(field, "field ", tag >> 3, " of wire type ", tag & 7,
                   " is not part of a description");
    }
  }
  if (!typed) cursor->Fail(begin, "the description has no data type");
}

void ReadValues(Cursor* cursor, TensorView* view) {
  // Product throws other codes: here the file is at fault, and at a place that can be named.
  int64_t count = 1;
  for (const int64_t dim : view->dims) {
    if (dim == 0) {
      count = 0;
      break;
    }
    if (__builtin_mul_overflow(count, dim, &count) || count > kMaxElements) {
      cursor->Fail(cursor->position(), "dims ", ToString(view->dims), " make more than ",
                   kMaxElements, " values");
    }
  }
  view->value_bytes = static_cast<size_t>(count) * SizeOf(view->dtype);
  const size_t begin = cursor->position();
  view->values = cursor->Skip(view->value_bytes, "the values");
  if (view->dtype != DataType::kBool || AreBools(view->values, view->value_bytes)) return;
  const size_t other = FirstOtherThanBool(view->values);
  cursor->Fail(begin + other, "a bool is 0 or 1, not ",
               int{static_cast<unsigned char>(view->values[other])});
}

void ReadLevels(Cursor* cursor, TensorView* view) {
  const size_t begin = cursor->position();
  const auto levels = cursor->Number<uint64_t>("the number of levels of detail");
  if (levels > kMaxLodLevels) {
    cursor->Fail(begin, levels, " levels of detail; the limit is ", kMaxLodLevels);
  }
  for (view->levels = 0; view->levels < levels; ++view->levels) {
    const size_t at = cursor->position();
    const auto bytes = cursor->Number<uint64_t>("the size of a level of detail");
    if (bytes % 8 != 0) cursor->Fail(at, "a level of detail of ", bytes, " bytes");
    view->lod[view->levels].offsets = cursor->Skip(bytes, "a level of detail");
    view->lod[view->levels].count = bytes / 8;
  }
}

void CheckLevels(const Cursor& cursor, const char* bytes, const TensorView& view) {
  const uint64_t rows = view.dims.empty() ? 0 : static_cast<uint64_t>(view.dims[0]);
  for (size_t i = 0; i < view.levels; ++i) {
    const LodLevelView* const below = i + 1 < view.levels ? &view.lod[i + 1] : nullptr;
    const auto problem = FindLodProblem(view.lod[i], below, rows);
    if (!problem) continue;
    const auto at = static_cast<size_t>(view.lod[i].offsets - bytes);
    cursor.Fail(at + 8 * problem->offset, "level ", i, " of detail ", problem->text);
  }
}

void CheckVersion(Cursor* cursor, const char* what) {
  const size_t begin = cursor->position();
  const auto version = cursor->Number<uint32_t>(what);
  if (version != 0) cursor->Fail(begin, what, " is ", version, "; only 0 is known");
}

template <typename T>
void AppendNumber(T number, std::string* out) {
  out->append(reinterpret_cast<const char*>(&number), sizeof(number));
}

char* PutVarint(uint64_t number, char* place) {
  for (; number >= 0x80; number >>= 7) *place++ = static_cast<char>(number | 0x80);
  *place++ = static_cast<char>(number);
  return place;
}

}  // namespace

TensorView ParseTensor(const char* bytes, size_t size) {
  TensorView view;
  Cursor cursor(bytes, size);
  CheckVersion(&cursor, "the version");
  // Byte 8 is the upper half of the number of levels, or the first tag of a description.
  const bool levels_first = size <= 8 || bytes[8] != static_cast<char>(kDataTypeTag);
  if (levels_first) {
    ReadLevels(&cursor, &view);
    CheckVersion(&cursor, "the version of the values");
  }
  ReadDescription(&cursor, cursor.Number<int32_t>("the description's size"), &view);
  ReadValues(&cursor, &view);
  if (!levels_first) ReadLevels(&cursor, &view);
  CheckLevels(cursor, bytes, view);
  view.size = cursor.position();
  return view;
}

LoDTensor ToTensor(const TensorView& view) {
  LoDTensor tensor;
  tensor.Allocate(view.dtype, view.dims);
  std::memcpy(tensor.mutable_raw_data(), view.values, view.value_bytes);
  Lod lod(view.levels);
  for (size_t level = 0; level < view.levels; ++level) {
    for (size_t i = 0; i < view.lod[level].count; ++i) lod[level].push_back(view.lod[level][i]);
  }
  tensor.set_lod(std::move(lod));
  return tensor;
}

void AppendTensorHeader(DataType dtype, const Dims& dims, const Lod& lod, std::string* out) {
  AppendNumber<uint32_t>(0, out);
  AppendNumber<uint64_t>(lod.size(), out);
  for (const LodLevel& level : lod) {
    AppendNumber<uint64_t>(level.size() * sizeof(uint64_t), out);
    out->append(reinterpret_cast<const char*>(level.data()), level.size() * sizeof(uint64_t));
  }
  AppendNumber<uint32_t>(0, out);
  char description[11 * (kMaxRank + 1)];
  char* end = PutVarint(kDataTypeTag, description);
  end = PutVarint(static_cast<uint64_t>(dtype), end);
  for (const int64_t dim : dims) {
    end = PutVarint(kDimTag, end);
    end = PutVarint(static_cast<uint64_t>(dim), end);
  }
  AppendNumber(static_cast<int32_t>(end - description), out);
  out->append(description, static_cast<size_t>(end - description));
}

SequenceHeader::SequenceHeader(DataType dtype, Dims dims) {
  std::string other;
  dims[0] = 1;
  AppendTensorHeader(dtype, dims, {{0, 1}}, &bytes_);
  dims[0] = 2;
  AppendTensorHeader(dtype, dims, {{0, 2}}, &other);
  while (bytes_[offset_at_] == other[offset_at_]) ++offset_at_;
  dim_at_ = bytes_.size() - 1;
  while (bytes_[dim_at_] == other[dim_at_]) --dim_at_;
}

void AppendTensor(const LoDTensor& tensor, std::string* out) {
  Require(tensor.initialized(), "a tensor without values cannot be serialised");
  Require(tensor.place().is_cpu(), "a tensor on ", tensor.place().name(),
          " cannot be serialised: copy it to the host first");
  AppendTensorHeader(tensor.dtype(), tensor.dims(), tensor.lod(), out);
  out->append(static_cast<const char*>(tensor.raw_data()), tensor.bytes());
}

}  // namespace millhopper
