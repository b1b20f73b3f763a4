// SPDX-License-Identifier: Apache-2.0
#include "readers/decorate/unbatch_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"

namespace millhopper {
namespace {

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

  size_t Work(StagedElement* batch) const override {
    const size_t count = batch->tensors.front().instances();
    for (size_t k = 1; k < batch->tensors.size(); ++k) {
      const size_t other = batch->tensors[k].instances();
      if (other == count) continue;
      Throw(ErrorCode::kDataLoss, "slot ", k, " has ", other, " instances, but slot 0 has ", count,
            "; a batch has as many in each slot");
    }
    return count;
  }

  bool makes_parts() const override { return true; }

  void LoadPart(const StagedElement& batch, size_t part, Rows* rows) const override {
    for (size_t k = 0; k < batch.tensors.size(); ++k) Append(batch.tensors[k], part, k, rows);
  }

 private:
  void Append(const LoDTensor& batch, size_t part, size_t slot, Rows* rows) const {
    // Steps [first, last) of the level that is looked at, down to the rows.
    size_t first = part;
    size_t last = part + 1;
    LodLevelView levels[kMaxLodLevels];
    std::vector<std::vector<uint64_t>> offsets(batch.lod().size());  // as those of an element
    for (size_t i = 0; i < offsets.size(); ++i) {
      const LodLevel& level = batch.lod()[i];
      offsets[i].assign(level.begin() + static_cast<std::ptrdiff_t>(first),
                        level.begin() + static_cast<std::ptrdiff_t>(last) + 1);
      first = offsets[i].front();
      last = offsets[i].back();
      for (uint64_t& offset : offsets[i]) offset -= first;
      levels[i] = {offsets[i].data(), offsets[i].size()};
    }
    Dims dims = batch.dims();
    dims[0] = static_cast<int64_t>(last - first);
    if (mode_ == BatchMode::kStack) dims = WithoutLeadingAxis(dims);
    const size_t row_bytes = batch.bytes() / std::max<size_t>(1, batch.rows());
    char* const place = rows->Append(slot, batch.dtype(), dims, levels, offsets.size());
    const size_t bytes = (last - first) * row_bytes;
    if (bytes == 0) return;
    std::memcpy(place, static_cast<const char*>(batch.raw_data()) + first * row_bytes, bytes);
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
                  std::make_unique<Unbatch>(mode), DepthForAllWorkers()),
      mode_(mode) {}

std::vector<SlotSpec> UnbatchReader::FoundSlots() const {
  return InstanceSlots(reader().FoundSlots(), mode_);
}

void UnbatchReader::SaveState(ReaderState* state) const {
  StageReader::SaveState(state);
  state->Setting("mode", mode_ == BatchMode::kStack ? "stack" : "concat");
}

}  // namespace millhopper
