// SPDX-License-Identifier: Apache-2.0
#include "readers/unbatch_reader.h"

#include <cstring>
#include <utility>
#include <vector>

#include "framework/base/error.h"

namespace millhopper {
namespace {

// Batches that are taken apart ahead.
constexpr int64_t kDepth = 4;

Dims WithoutLeadingAxis(const Dims& dims) {
  Dims inner;
  for (size_t axis = 1; axis < dims.size(); ++axis) inner.push_back(dims[axis]);
  return inner;
}

std::vector<SlotSpec> InstanceSlots(const std::vector<SlotSpec>& batch, BatchMode mode) {
  std::vector<SlotSpec> instances;
  for (size_t i = 0; i < batch.size(); ++i) instances.push_back(InstanceSlot(batch[i], i, mode));
  return instances;
}

class Unbatch final : public Stage {
 public:
  explicit Unbatch(BatchMode mode) : mode_(mode) {}

  void Work(const RecordId& id, std::vector<LoDTensor>* batch, StageOutput* out) const override {
    const size_t count = CountOf(batch->front());
    for (size_t k = 1; k < batch->size(); ++k) {
      if (CountOf((*batch)[k]) == count) continue;
      Throw(ErrorCode::kDataLoss, "slot ", k, " has ", CountOf((*batch)[k]),
            " instances, but slot 0 has ", count, "; a batch has as many in each slot");
    }
    for (size_t i = 0; i < count; ++i) {
      StagedElement* const instance = out->Add();
      instance->id.part = id.part + static_cast<uint32_t>(i);
      instance->tensors.resize(batch->size());
      for (size_t k = 0; k < batch->size(); ++k) Copy((*batch)[k], i, &instance->tensors[k]);
    }
  }

 private:
  static size_t CountOf(const LoDTensor& tensor) {
    return tensor.lod().empty() ? static_cast<size_t>(tensor.dims()[0])
                                : tensor.lod().front().size() - 1;
  }

  void Copy(const LoDTensor& batch, size_t i, LoDTensor* instance) const {
    // Steps [first, last) of the level that is looked at, down to the rows.
    size_t first = i;
    size_t last = i + 1;
    Lod lod;
    for (const LodLevel& level : batch.lod()) {
      LodLevel own;
      own.reserve(last - first + 1);
      for (size_t at = first; at <= last; ++at) own.push_back(level[at] - level[first]);
      first = level[first];
      last = first + own.back();
      lod.push_back(std::move(own));
    }
    Dims dims = batch.dims();
    dims[0] = static_cast<int64_t>(last - first);
    const size_t row_bytes =
        batch.dims()[0] == 0 ? 0 : batch.bytes() / static_cast<size_t>(batch.dims()[0]);
    instance->Allocate(batch.dtype(), mode_ == BatchMode::kStack ? WithoutLeadingAxis(dims) : dims);
    const size_t bytes = (last - first) * row_bytes;
    if (bytes > 0) {
      const auto* rows = static_cast<const char*>(batch.raw_data());
      std::memcpy(instance->mutable_raw_data(), rows + first * row_bytes, bytes);
    }
    *instance->mutable_lod_unchecked() = std::move(lod);
  }

  const BatchMode mode_;
};

}  // namespace

SlotSpec InstanceSlot(const SlotSpec& batch, size_t i, BatchMode mode) {
  SlotSpec slot = batch;
  if (!slot.known) return slot;
  if (mode == BatchMode::kConcat) {
    slot.dims[0] = slot.lod_level == 0 ? 1 : -1;
    return slot;
  }
  Require(slot.lod_level == 0 && slot.dims.size() > 1, "slot ", i, " (", ToString(slot),
          ") is no stack of instances with an axis of their own; use mode \"concat\"");
  slot.dims = WithoutLeadingAxis(slot.dims);
  return slot;
}

UnbatchReader::UnbatchReader(std::unique_ptr<ReaderBase> reader, BatchMode mode)
    : StageReader(std::move(reader), InstanceSlots(reader->slots(), mode),
                  std::make_unique<Unbatch>(mode), kDepth) {}

}  // namespace millhopper
