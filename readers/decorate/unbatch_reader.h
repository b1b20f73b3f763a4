// SPDX-License-Identifier: Apache-2.0
// Takes batches apart.
#ifndef MILLHOPPER_READERS_DECORATE_UNBATCH_READER_H_
#define MILLHOPPER_READERS_DECORATE_UNBATCH_READER_H_

#include <cstddef>
#include <memory>

#include "framework/reader/stage_reader.h"
#include "readers/decorate/batch_reader.h"

namespace millhopper {

// The slot of one instance, for slot i of a batch. Throws kInvalidArgument for a slot that the mode
// cannot take apart.
SlotSpec InstanceSlot(const SlotSpec& batch, size_t i, BatchMode mode);

// Yields the instances of each element of the reader below, in order: the rows of slots without
// levels of detail, the sequences of the outermost level of the others. With kConcat an instance
// has the slot's rank and a leading axis of 1, or of the sequence's length; with kStack the leading
// axis is removed, which undoes a batch of that mode. An element whose slots have different numbers
// of instances is an error.
class UnbatchReader final : public StageReader {
 public:
  // Throws kInvalidArgument for slots that the mode cannot take apart, and when the reader below
  // yields tensors on a device.
  UnbatchReader(std::unique_ptr<ReaderBase> reader, BatchMode mode);

  std::vector<SlotSpec> FoundSlots() const override;

 private:
  void SaveState(ReaderState* state) const override;

  const BatchMode mode_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_DECORATE_UNBATCH_READER_H_
