// SPDX-License-Identifier: Apache-2.0
// Readers whose elements are those of several other readers: one after another, or mixed.
#ifndef MILLHOPPER_READERS_COMBINE_UNION_READER_H_
#define MILLHOPPER_READERS_COMBINE_UNION_READER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "readers/combine/combined_reader.h"

namespace millhopper {

// Yields elements of several readers with the same slots; derived classes say in which order. To
// give each element its own name (RecordId), sample s of reader k of n becomes sample s * n + k,
// which also tells the reader that loads it. Of lanes, each of which joins its own, the number of
// the lane stays the remainder: sample s * V + v becomes (s * n + k) * V + v.
//
// Slots are the same if types, ranks and levels of detail are, and each axis, where -1 is any size.
// Slots that only files tell are settled before the first element is planned, and are saved. So
// readers that do not fit together are an error in place of the first element, whatever has been
// read by then.
class UnionReader : public CombinedReader {
 public:
  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const final;
  const std::vector<SlotSpec>& row_slots() const final {
    return settled_.empty() ? slots() : settled_;
  }
  std::vector<SlotSpec> FoundSlots() const final;
  // The numbers say which reader an element is of.
  void RecordKeys(const Ticket* tickets, size_t n, uint64_t* keys) const final;
  void NameElements(const Ticket* tickets, size_t n, ElementNames* names) const final;
  void PlanAgain(const ElementNames& names, const TakeElement& take) final;

 protected:
  // Throws kInvalidArgument unless all readers have the same slots, as far as they know them yet.
  // `lanes` is how many lanes there are, of which this is one, or 1.
  explicit UnionReader(Readers readers, size_t lanes = 1);

  // Settles the slots, unless that is done. Called before any of the readers plans. Throws
  // kDataLoss if files were found to hold slots that cannot be joined.
  void SettleSlots();
  // Gives the tickets that reader k has just planned their names. Throws kDataLoss if it was found
  // to yield other slots than those settled, which could not be told before.
  void Rename(size_t k, Ticket* tickets, size_t n);
  // The reader that planned a renamed ticket.
  size_t ReaderOf(const Ticket& ticket) const {
    return static_cast<size_t>(ticket.id.sample / lanes_ % size());
  }
  // The settled slots. A derived class adds what it knows itself.
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;

 private:
  enum class RowsOf {
    kNotKnown,  // no element has been planned yet
    kSame,      // the reader loads rows of row_slots()
    kOwn,       // it loads rows of its own slots, which are more precise
  };

  // The slots, as far as the readers have found them.
  std::vector<SlotSpec> JoinFound() const;
  // Learns which rows reader k loads, once it has planned its first element.
  void CheckRows(size_t k);
  void Name(size_t k, Ticket* tickets, size_t n) const;
  // The name that the reader below gave it.
  uint64_t SampleBelow(uint64_t sample) const {
    return sample / lanes_ / size() * lanes_ + sample % lanes_;
  }
  void LoadOwn(const ReaderBase& reader, const Ticket& ticket, Rows* rows) const;

  const size_t lanes_;
  bool is_settled_ = false;
  std::vector<SlotSpec>
      settled_;                  // empty if slots() knows all; set before there is a ticket to load
  std::vector<RowsOf> rows_of_;  // of each reader; set before there is a ticket of it to load
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_COMBINE_UNION_READER_H_
