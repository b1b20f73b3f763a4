// SPDX-License-Identifier: Apache-2.0
// Writes elements as TFRecord files of Examples: integers and bools as int64_list, floats as
// float_list, texts and bytes as bytes_list. Of a tensor the values stand one after another; its
// dims are those of the field that reads it. Where a mask says that there is no value, there is no
// feature.
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "readers/output/file_writer.h"
#include "readers/support/checksums.h"

namespace millhopper {
namespace {

// Fields of messages: Example.features, Features.feature and its key and value, the lists of a
// Feature and their values (tensorflow/core/example/example.proto and feature.proto).
constexpr uint32_t kFeatures = 1, kEntries = 1, kKeys = 1, kFeatureOfKey = 2, kListValues = 1;
constexpr uint32_t kBytesList = 1, kFloatList = 2, kIntegerList = 3;

void AppendVarint(uint64_t number, std::string* out) {
  for (; number >= 0x80; number >>= 7) *out += static_cast<char>(number | 0x80);
  *out += static_cast<char>(number);
}

// Appends a field that is bytes, a message or packed numbers.
void AppendBytesField(uint32_t number, std::string_view bytes, std::string* out) {
  AppendVarint(number << 3 | 2, out);
  AppendVarint(bytes.size(), out);
  *out += bytes;
}

template <typename T>
void AppendStored(T number, std::string* out) {
  out->append(reinterpret_cast<const char*>(&number), sizeof(number));
}

class ExampleWriter final : public BufferedWriter {
 public:
  ExampleWriter(const std::string& path, const OutputRules& rules,
                const std::vector<OutputSlot>& slots)
      : BufferedWriter(path, rules), slots_(slots) {}

 private:
  void Append(const std::vector<LoDTensor>& element, std::string* out) override {
    features_.clear();
    for (const OutputSlot& slot : slots_) {
      CheckRecord(slot, element);
      if (!slot.HasValue(element)) continue;
      SetFeature(slot, element[slot.number]);
      entry_.clear();
      AppendBytesField(kKeys, slot.name, &entry_);
      AppendBytesField(kFeatureOfKey, feature_, &entry_);
      AppendBytesField(kEntries, entry_, &features_);
    }
    example_.clear();
    AppendBytesField(kFeatures, features_, &example_);
    Require(example_.size() <= kMaxRecordBytes, "an Example of ", example_.size(),
            " bytes; the limit is ", kMaxRecordBytes);
    const size_t frame = out->size();
    AppendStored(uint64_t{example_.size()}, out);
    AppendStored(MaskedCrc32c(out->data() + frame, sizeof(uint64_t)), out);
    *out += example_;
    AppendStored(MaskedCrc32c(example_.data(), example_.size()), out);
  }

  void SetFeature(const OutputSlot& slot, const LoDTensor& tensor) {
    list_.clear();
    uint32_t kind = kBytesList;
    if (slot.text_depth() > 0) {
      for (const std::string_view text : TextsOf(tensor)) {
        AppendBytesField(kListValues, text, &list_);
      }
    } else {
      kind = IsFloat(tensor.dtype()) ? kFloatList : kIntegerList;
      packed_.clear();
      VisitNumbers(tensor, 0, static_cast<size_t>(tensor.numel()),
                   [&](auto value) { AppendPacked(slot, value); });
      if (!packed_.empty()) AppendBytesField(kListValues, packed_, &list_);
    }
    Require(!slot.mask || !list_.empty(), "slot '", Escaped(slot.name),
            "': a list of no values, which an Example does not tell from no list; jsonl, recordio, "
            "parquet and arrow do");
    feature_.clear();
    AppendBytesField(kind, list_, &feature_);
  }

  template <typename T>
  void AppendPacked(const OutputSlot& slot, T value) {
    if constexpr (std::is_floating_point_v<T>) {
      AppendStored(static_cast<float>(value), &packed_);
    } else {
      if constexpr (std::is_same_v<T, uint64_t>) {
        Require(value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()), "slot '",
                Escaped(slot.name), "': ", value, " is no int64, which Examples have");
      }
      AppendVarint(static_cast<uint64_t>(static_cast<int64_t>(value)), &packed_);
    }
  }

  const std::vector<OutputSlot>& slots_;  // the format's
  std::string packed_, list_, feature_, entry_, features_, example_;
};

class ExampleOutput final : public OutputFormat {
 public:
  explicit ExampleOutput(const NamedSlots& slots)
      : OutputFormat(OutputSlotsOf(slots, OutputNulls::kAsNulls)) {
    for (const OutputSlot& slot : this->slots()) {
      RefuseBatches("tfrecord", slot);
      if (slot.spec.dtype == DataType::kFp64) {
        RefuseSlot(
            "tfrecord", slot,
            "Examples have floats of 32 bits only; read it as float32 (a field \"x float32[]\"), "
            "cast it, or write recordio, parquet or arrow");
      }
      if (slot.spec.lod_level - (slot.text_depth() > 0 ? 1 : 0) > 1) {
        RefuseSlot("tfrecord", slot,
                   "an Example has no lists of lists; recordio, parquet and arrow hold them");
      }
    }
  }

  std::unique_ptr<FileWriter> Open(const std::string& path, const OutputRules& rules,
                                   uint64_t) const override {
    return std::make_unique<ExampleWriter>(path, rules, slots());
  }
};

WriterSchema Schema() {
  return WriterSchema("Examples: integers, floats of 32 bits, texts, bytes, lists; nulls")
      .Compresses();
}

std::unique_ptr<OutputFormat> Make(const NamedSlots& slots) {
  return std::make_unique<ExampleOutput>(slots);
}

REGISTER_FILE_WRITER(tfrecord, Schema, Make);

}  // namespace
}  // namespace millhopper
