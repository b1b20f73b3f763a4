// SPDX-License-Identifier: Apache-2.0
// What readers on top of several other readers have in common.
#ifndef MILLHOPPER_READERS_COMBINE_COMBINED_READER_H_
#define MILLHOPPER_READERS_COMBINE_COMBINED_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "framework/reader/reader.h"

namespace millhopper {

using Readers = std::vector<std::unique_ptr<ReaderBase>>;

// How errors call reader i of several: its origin, or "reader 1".
std::string Called(const ReaderBase& reader, size_t i);

// A reader on top of several other readers, which it owns. Their passes have its pass number.
class CombinedReader : public ReaderBase {
 public:
  Place place() const override;
  size_t ElementsReady() const override;
  bool HelpToPlan() override;
  std::vector<ReaderBase*> Below() const override;
  void ExpectWindow() override;
  void ExpectRanks(size_t ranks, size_t run) override;
  void BeginPass() override;
  bool BeginElement() override;

 protected:
  // Throws kInvalidArgument if there is no reader, or if one yields elements on another device than
  // the first. `readers` is a reference so that the caller can compute the slots from it in the
  // same call.
  CombinedReader(Readers&& readers, std::vector<SlotSpec> slots);

  void Rewind(uint64_t pass) override;
  size_t size() const { return readers_.size(); }
  ReaderBase& reader(size_t i) const { return *readers_[i]; }
  std::string Called(size_t i) const { return millhopper::Called(reader(i), i); }

 private:
  const Readers readers_;
};

// Elements of one of the readers that are planned, but not handed out yet.
class PlannedElements {
 public:
  // Plans elements until there are n, or until the pass or an error ends them; returns how many
  // there are, at most n. Throws only errors that interrupt; then nothing is lost.
  size_t Fill(ReaderBase* reader, size_t n);
  // For a reader whose elements have ended: throws its error if that is what has ended them.
  void CheckEnd(ReaderBase* reader) { reader->Plan(1, &planned_); }
  const Ticket& operator[](size_t i) const { return planned_.tickets[next_ + i]; }
  // Drops the first n, which are handed out.
  void Drop(size_t n);
  void Clear();
  // The names of those that are not handed out, and how to plan them again.
  ElementNames Names(const ReaderBase& reader) const;
  void PlanAgain(ReaderBase* reader, const ElementNames& names);

 private:
  size_t available() const { return planned_.tickets.size() - next_; }

  TicketRun planned_;
  size_t next_ = 0;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_COMBINE_COMBINED_READER_H_
