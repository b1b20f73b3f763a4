// SPDX-License-Identifier: Apache-2.0
// Readers whose elements are those of several other readers: one after another, or mixed.
#ifndef MILLHOPPER_READERS_UNION_READER_H_
#define MILLHOPPER_READERS_UNION_READER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "readers/combined_reader.h"

namespace millhopper {

// Yields elements of several readers with the same slots; derived classes say in which order. So
// that no two elements have one name (RecordId), sample s of reader k of n becomes sample s * n +
// k. That tells which reader loads it, too.
class UnionReader : public CombinedReader {
 public:
  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const final;
  const std::vector<SlotSpec>& row_slots() const final {
    return found_slots_.empty() ? slots() : found_slots_;
  }
  // The numbers say which reader an element is of.
  void NameElements(const Ticket* tickets, size_t n, ElementNames* names) const final;
  void PlanAgain(const ElementNames& names, const TakeElement& take) final;

 protected:
  // Throws kInvalidArgument unless all readers have the same slots, as far as they know them yet.
  explicit UnionReader(Readers readers);

  // Gives the tickets that reader k has just planned their names. Throws kDataLoss if the files of
  // this reader were found to hold other slots than those of the others.
  void Rename(size_t k, Ticket* tickets, size_t n);
  // The reader that planned a renamed ticket.
  size_t ReaderOf(const Ticket& ticket) const {
    return static_cast<size_t>(ticket.id.sample % size());
  }

 private:
  void CheckRowSlots(size_t k);

  std::vector<SlotSpec> found_slots_;  // set once, before there is a ticket to load
  std::vector<bool> checked_;          // the readers whose row_slots are found_slots_
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_UNION_READER_H_
