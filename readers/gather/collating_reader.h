// SPDX-License-Identifier: Apache-2.0
// The base of readers that gather whole elements into batches, with or without padding.
#ifndef MILLHOPPER_READERS_GATHER_COLLATING_READER_H_
#define MILLHOPPER_READERS_GATHER_COLLATING_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "readers/gather/gather_reader.h"

namespace millhopper {

// How gathered elements become a batch. Without `pad`, they are laid end to end along axis 0, as
// BatchReader does. With it, the sequences of each slot with one level of detail become a rectangle
// [elements, length, ...] without levels; other slots are laid end to end.
struct CollationOptions {
  bool pad = false;
  // Of the rectangles: one per slot that is padded, one for all, or none: 0. That is the length of
  // the longest sequence of the batch, rounded up to a multiple of pad_multiple.
  std::vector<int64_t> pad_lengths;
  int64_t pad_multiple = 1;
  std::vector<double> pad_values;  // as many as pad_lengths may be
  // Whether a slot int64 [elements, 1] with the lengths of the sequences follows for each slot that
  // is padded, after all other slots.
  bool lengths = false;
};

// The slots of the batches. Throws kInvalidArgument for a slot with more than one level of detail
// that would have to be padded, and for as many pad_lengths as there cannot be.
std::vector<SlotSpec> CollatedSlots(const std::vector<SlotSpec>& below,
                                    const CollationOptions& options);

class CollatingReader : public GatherReader {
 public:
  std::vector<SlotSpec> FoundSlots() const override {
    return CollatedSlots(reader().FoundSlots(), options_);
  }

  void RecordKeys(const Ticket*, size_t, uint64_t*) const override { RefuseRecordKeys(); }

 protected:
  // Throws as CollatedSlots and StageReader do, and kInvalidArgument for options out of range and
  // for padding values that do not fit the slots.
  CollatingReader(std::unique_ptr<ReaderBase>&& reader, const CollationOptions& options);

  // Writes what all of them depend on, beside what GatherReader writes.
  void SaveState(ReaderState* state) const override;
  // Throws kInvalidArgument unless the reader below has such a slot.
  size_t CheckedSlot(int64_t slot) const;
  // The length that the sequences of a slot get of which the longest has `longest` steps.
  size_t PaddedLength(size_t slot, size_t longest) const;

 private:
  void LoadGathered(const Gathered& batch, Rows* rows) const final;
  void LoadEndToEnd(const Gathered& batch, size_t slot, Rows* rows) const;
  // Pads slot `slot`, the `padded`-th of those that are padded.
  void LoadPadded(const Gathered& batch, size_t slot, size_t padded, Rows* rows) const;

  const CollationOptions options_;
  std::vector<size_t> padded_;        // the slots that are padded
  std::vector<double> pads_;          // for each of them
  std::vector<int64_t> pad_lengths_;  // of each slot
};

// The batch that a reader is filling.
class OpenBatch {
 public:
  void Add(const Ref<GatheredPart>& part) {
    if (!batch_) batch_ = Pool<Gathered>::Take();
    batch_->Add(part);
    ++size_;
  }
  size_t size() const { return size_; }
  // Null while it is empty.
  const Gathered* gathered() const { return batch_.get(); }
  // Continues a batch that was gathered and saved.
  void Continue(Ref<Gathered> batch) {
    size_ = batch->pieces().size();
    batch_ = std::move(batch);
  }
  // Takes the batch out; the next one is empty.
  Ref<Gathered> Take() {
    size_ = 0;
    return std::move(batch_);
  }

 private:
  Ref<Gathered> batch_;  // null while it is empty
  size_t size_ = 0;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_GATHER_COLLATING_READER_H_
