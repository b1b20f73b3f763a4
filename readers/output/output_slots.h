// SPDX-License-Identifier: Apache-2.0
// The slots of elements that are written to files of records: what formats can hold of them, and
// the fields by which readers get the same elements back.
#ifndef MILLHOPPER_READERS_OUTPUT_OUTPUT_SLOTS_H_
#define MILLHOPPER_READERS_OUTPUT_OUTPUT_SLOTS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/error.h"
#include "framework/tensor/rows.h"
#include "framework/tensor/tensor.h"
#include "readers/fields/named_slots.h"

namespace millhopper {

// A slot of the elements that are written. An element is one record: its slots have a leading axis
// of 1, or levels of detail of which the outermost is one sequence.
struct OutputSlot {
  std::string name;
  SlotSpec spec;
  size_t number = 0;  // in the element
  // The slot, a bool, that says whether there is a value: the mask of a field (missing=mask). Where
  // there is none, a null is written.
  std::optional<size_t> mask;

  // uint8 of which each sequence of the innermost level is a text, or bytes, and how deep they lie
  // in lists: 1 if the slot is one text. 0 if it is none.
  int text_depth() const {
    return spec.dtype == DataType::kUint8 && spec.dims.size() == 1 ? spec.lod_level : 0;
  }
  bool is_text() const { return text_depth() == 1; }
  // Whether it is one number.
  bool is_scalar() const;
  // The lengths of the axes after the leading one; of a sequence those of a step.
  std::vector<int64_t> inner() const { return {spec.dims.begin() + 1, spec.dims.end()}; }
  // Whether the element has a value; `element` has passed CheckRecord.
  bool HasValue(const std::vector<LoDTensor>& element) const {
    return !mask || *element[*mask].data<bool>();
  }
};

// How a format takes nulls.
enum class OutputNulls {
  kAsSlots,  // it has none: masks are slots as any other
  kAsNulls,  // it has: masks become nulls, and no slots
};

// The slots that a format writes. The names of masks are those that NamesOf (fields.h) gives them,
// and masks stand last. Throws kInvalidArgument if there are no slots, not as many names, or two of
// one name.
std::vector<OutputSlot> OutputSlotsOf(const NamedSlots& slots, OutputNulls nulls);

// Throws kInvalidArgument "npy cannot hold slot 'tokens', int64 [-1] with 1 level of detail:
// <why>".
[[noreturn]] void RefuseSlot(const char* format, const OutputSlot& slot, const std::string& why);
// Throws unless the slot is of one record: has a leading axis of 1, or levels of detail; and no
// other axis of any length.
void RefuseBatches(const char* format, const OutputSlot& slot);
// Throws kInvalidArgument, naming the slot, if it is not of one record.
void CheckRecord(const OutputSlot& slot, const std::vector<LoDTensor>& element);

// The type of a field that reads the slot: "float32[28, 28]", "int64[-1]", "str".
std::string FieldTypeOf(const OutputSlot& slot);
// The entry of `fields` that reads it from what the format calls `source`: "label int64[]", or
// "label = #3 int64[]" where that is another name; with missing=mask where there are nulls.
std::string FieldOf(const OutputSlot& slot, const std::string& source,
                    const std::string& options = "");

// The bytes of a text.
std::string_view TextOf(const LoDTensor& tensor);
// The texts of the innermost level, in order.
std::vector<std::string_view> TextsOf(const LoDTensor& tensor);
// Throws kInvalidArgument, naming the slot, if a text is no UTF-8.
void CheckIsText(const char* format, const OutputSlot& slot, std::string_view text);

// Calls visit(value) for a value of this type that lies at `at`: a bool, an integer, a float or a
// double; of 16 bits as a float, which gives it back.
template <typename Visit>
void VisitNumber(DataType type, const char* at, const Visit& visit) {
  const auto as = [at](auto like) {
    std::memcpy(&like, at, sizeof(like));
    return like;
  };
  switch (type) {
    case DataType::kBool:
      return visit(*at != 0);
    case DataType::kInt8:
      return visit(as(int8_t{}));
    case DataType::kUint8:
      return visit(as(uint8_t{}));
    case DataType::kInt16:
      return visit(as(int16_t{}));
    case DataType::kUint16:
      return visit(as(uint16_t{}));
    case DataType::kInt32:
      return visit(as(int32_t{}));
    case DataType::kUint32:
      return visit(as(uint32_t{}));
    case DataType::kInt64:
      return visit(as(int64_t{}));
    case DataType::kUint64:
      return visit(as(uint64_t{}));
    case DataType::kFp16:
      return visit(Fp16ToFloat(as(uint16_t{})));
    case DataType::kBf16:
      return visit(Bf16ToFloat(as(uint16_t{})));
    case DataType::kFp32:
      return visit(as(float{}));
    case DataType::kFp64:
      return visit(as(double{}));
  }
}

// Calls visit(value) for the values of a tensor from `first` on.
template <typename Visit>
void VisitNumbers(const LoDTensor& tensor, size_t first, size_t n, const Visit& visit) {
  const size_t size = SizeOf(tensor.dtype());
  const char* at = static_cast<const char*>(tensor.raw_data()) + first * size;
  for (size_t i = 0; i < n; ++i, at += size) VisitNumber(tensor.dtype(), at, visit);
}

// Words for what no digits say.
struct NumberWords {
  const char* nan;
  const char* infinity;
};
// Appends the shortest text that reads back as the same number: true, -7, 0.1.
void AppendNumberText(DataType type, const char* at, const NumberWords& words, std::string* out);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_OUTPUT_OUTPUT_SLOTS_H_
