// SPDX-License-Identifier: Apache-2.0
// Yields the elements of several readers side by side.
#ifndef MILLHOPPER_READERS_COMBINE_ZIP_READER_H_
#define MILLHOPPER_READERS_COMBINE_ZIP_READER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "readers/combine/combined_reader.h"

namespace millhopper {

// Element i has the slots of element i of the first reader, then those of the second, and so on. It
// has the name of the first reader's element. Readers that end after different numbers of elements
// are not aligned: that is an error in the place of the element that one of them lacks, unless the
// alignment is not checked; then the pass ends there. Elements that the others have planned beyond
// that are lost.
//
// Source: paddle.reader.compose and its check_alignment, 2017.
class ZipReader final : public CombinedReader {
 public:
  // Throws kInvalidArgument if there is no reader or there are more than kMaxSlots slots.
  ZipReader(Readers readers, bool check_alignment);

  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const override;
  const std::vector<SlotSpec>& row_slots() const override;
  std::vector<SlotSpec> FoundSlots() const override;
  std::optional<uint64_t> PassLength() const override;
  // Those of the first reader, whose names elements have.
  void RecordKeys(const Ticket* tickets, size_t n, uint64_t* keys) const override {
    reader(0).RecordKeys(tickets, n, keys);
  }
  void NameElements(const Ticket* tickets, size_t n, ElementNames* names) const override;
  void PlanAgain(const ElementNames& names, const TakeElement& take) override;

 private:
  void PlanNext(size_t n, TicketRun* run) override;
  void Rewind(uint64_t pass) override;
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;
  // Learns the slots that the readers have found, unless that is done.
  void FindSlots();
  // Throws unless all readers end where reader `ended` has ended.
  void CheckAlignment(size_t ended);
  // Hands out the first `count` planned elements of all readers.
  void HandOut(size_t count, TicketRun* run);

  const bool check_alignment_;
  std::vector<PlannedElements> planned_;  // of each reader
  uint64_t count_ = 0;                    // elements of this pass so far
  std::vector<SlotSpec> found_slots_;     // set once, before there is a ticket to load
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_COMBINE_ZIP_READER_H_
