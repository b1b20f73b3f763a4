// SPDX-License-Identifier: Apache-2.0
// Makes batches.
#ifndef MILLHOPPER_READERS_DECORATE_BATCH_READER_H_
#define MILLHOPPER_READERS_DECORATE_BATCH_READER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "framework/base/error.h"
#include "framework/memory/memory.h"
#include "framework/reader/reader.h"

namespace millhopper {

// How the elements of a batch are laid out.
enum class BatchMode {
  kConcat,  // one after another along axis 0; levels of detail are appended
  kStack,   // along a new outer axis; elements must have equal dims and no levels of detail
};

// "concat" or "stack", as attributes say it.
BatchMode BatchModeOf(const std::string& mode);

// The dims of batches of elements of these dims, of which there is at least one.
Dims BatchDims(const Dims& element, BatchMode mode);

// Makes one element of batch_size elements of the reader below. The last batch of a pass may be
// shorter; with discard_leftover such a batch is left out. Elements are loaded in parallel,
// straight into their place in the batch, so they are not copied together afterwards.
class BatchReader : public DecoratedReader {
 public:
  // Throws kInvalidArgument for a batch_size below 1, when a slot with levels of detail is to be
  // stacked, or when the reader below yields tensors on a device.
  BatchReader(std::unique_ptr<ReaderBase> reader, int64_t batch_size, bool discard_leftover,
              BatchMode mode);

  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const override;
  const std::vector<SlotSpec>& row_slots() const override;
  std::vector<SlotSpec> FoundSlots() const override;
  size_t ElementsReady() const override;
  void ExpectRanks(size_t ranks, size_t run) override {
    reader().ExpectRanks(ranks, CheckedProduct(run, batch_size_));
  }
  std::optional<uint64_t> PassLength() const override;
  void RecordKeys(const Ticket*, size_t, uint64_t*) const override { RefuseRecordKeys(); }
  // The numbers are the sizes of the batches.
  void NameElements(const Ticket* tickets, size_t n, ElementNames* names) const override;
  void PlanAgain(const ElementNames& names, const TakeElement& take) override;
  bool HoldsOnlyElements() const override { return true; }
  ElementNames NamesBelow(ElementNames names) const override;
  void TakeBack(SavedRank* saved, ReaderState* state) const override;

 protected:
  void PlanNext(size_t n, TicketRun* run) override;
  void Rewind(uint64_t pass) override;
  size_t batch_size() const { return batch_size_; }
  BatchMode mode() const { return mode_; }
  // Whether the first elements of the next batch are planned already.
  bool IsBegun() const { return batch_ || again_; }
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;

 private:
  // Plans the rest of the current batch.
  void Fill();
  // Takes elements of a position.
  void FillAgain();
  // Where a batch has elements of one pass only: gives back those of the next one. Whether it has
  // some.
  bool EndsWithItsPass();
  void CheckNames(const ElementNames& names) const;
  // Adds the memory that whole batches take to an out-of-memory error; returns other errors
  // unchanged. `used_before` is the memory needed when the current batch was begun.
  Error WithWholeBatches(const Error& error, size_t used_before) const;
  void LoadStacked(const TicketRun& batch, Rows* rows) const;

  const size_t batch_size_;
  const bool discard_leftover_;
  const BatchMode mode_;
  Ref<TicketRun> batch_;  // the current batch as far as it is planned; null between two batches
  // The elements of a position that come before those that the reader below plans; null if there
  // are none. From next_again_ on they are in no batch yet.
  Ref<TicketRun> again_;
  size_t next_again_ = 0;
  // Whether these may be of several passes, or of one that is over for the reader below, so that a
  // batch must not have some of two.
  bool ends_passes_ = false;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_DECORATE_BATCH_READER_H_
