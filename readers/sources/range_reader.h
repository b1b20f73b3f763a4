// SPDX-License-Identifier: Apache-2.0
// Yields the numbers from 0 on, in order or shuffled: the source for whatever is found by number.
#ifndef MILLHOPPER_READERS_SOURCES_RANGE_READER_H_
#define MILLHOPPER_READERS_SOURCES_RANGE_READER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "framework/base/permutation.h"
#include "framework/base/random.h"
#include "framework/reader/reader.h"

namespace millhopper {

// The numbers 0, 1 ... count - 1, each as int64 [1] and once in a pass. Shuffled, their order is
// Permutation(count, key, pass), which takes no memory for numbers that wait. The name of an
// element has its place in the order as sample, and its number in place of the chunk's.
class RangeReader : public ReaderBase {
 public:
  // `key` is the one that decides the order; without it, the order is that of the numbers.
  RangeReader(uint64_t count, const std::optional<RandomKey>& key);

  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const override;
  std::optional<uint64_t> PassLength() const final { return count_; }
  void RecordKeys(const Ticket* tickets, size_t n, uint64_t* keys) const final;
  void NameElements(const Ticket* tickets, size_t n, ElementNames* names) const final;
  // A sample of a pass tells its number.
  void PlanAgain(const ElementNames& names, const TakeElement& take) final;

 protected:
  // For a reader whose elements are found by number and have these slots.
  RangeReader(uint64_t count, const std::optional<RandomKey>& key, std::vector<SlotSpec> slots);
  static uint64_t NumberOf(const Ticket& ticket) { return ticket.id.chunk; }

 private:
  void PlanNext(size_t n, TicketRun* run) final;
  void Rewind(uint64_t pass) final;
  void SaveState(ReaderState* state) const final;
  void RestoreState(const ReaderState& state) final;
  // The ticket of the number at a place of the order of a pass.
  static Ticket TicketOf(uint64_t pass, uint64_t place, uint64_t number);

  const uint64_t count_;
  const std::optional<RandomKey> key_;
  uint64_t pass_ = 0;
  uint64_t next_ = 0;                 // place in the order
  std::optional<Permutation> order_;  // of this pass, once an element of it is planned
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_SOURCES_RANGE_READER_H_
