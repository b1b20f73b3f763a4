// SPDX-License-Identifier: Apache-2.0
// The base of readers that see all elements below, in order, and make their own elements of them:
// batches by length, packed rows, windows, elements that were not seen before.
#ifndef MILLHOPPER_READERS_GATHER_GATHER_READER_H_
#define MILLHOPPER_READERS_GATHER_GATHER_READER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <vector>

#include "framework/base/ref_counted.h"
#include "framework/reader/stage_reader.h"

namespace millhopper {

// A loaded element of the reader below. Pooled. Any number of gathered elements may share it.
class GatheredPart final : public RefCounted {
 public:
  RecordId id;
  std::vector<LoDTensor> tensors;  // one per slot
  ElementNames made_of;            // how the reader below names it; empty if it will not be saved

 private:
  void Dispose() override;
};

// A future element: steps of elements below, in order. Pooled. It does not change once it is ready.
class Gathered final : public RefCounted {
 public:
  struct Piece {
    Ref<const GatheredPart> part;
    size_t first;  // step along axis 0
    size_t steps;
  };

  // Adds steps of a part, beginning with step `first`.
  void Add(const Ref<GatheredPart>& part, size_t first, size_t steps) {
    pieces_.push_back({Ref<const GatheredPart>(part.get()), first, steps});
  }
  // Adds a part as a whole.
  void Add(const Ref<GatheredPart>& part) { Add(part, 0, 0); }
  const std::vector<Piece>& pieces() const { return pieces_; }
  // The name of the first piece.
  RecordId id() const;

 private:
  void Dispose() override;

  std::vector<Piece> pieces_;
};

// The length of a part's slot along axis 0. Throws kDataLoss if the part holds several sequences,
// or has more than one level of detail.
size_t LengthOf(const GatheredPart& part, size_t slot);

// Throws kDataLoss unless the steps of a slot have the type and the dims that those of `like` have.
void CheckSameSteps(const LoDTensor& like, const LoDTensor& tensor, size_t slot);

// Works in two steps. Workers load elements of the reader below ahead of the consumer, in parallel;
// the planning thread looks at them in order and decides which of them go together, which is cheap
// because it copies no values. Then Load copies the values into their place, on any thread. So the
// elements do not depend on the number of threads.
//
// A derived class keeps what it has gathered and not yet handed over in members that only the
// planning thread uses.
class GatherReader : public StageReader {
 public:
  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const override;
  void NameElements(const Ticket* tickets, size_t n, ElementNames* names) const override;
  // Loads the elements below.
  void PlanAgain(const ElementNames& names, const TakeElement& take) override;

 protected:
  // `slots` are those of the elements that it makes. If they are those of the reader below, also as
  // far as that learns them from its file, keeps_slots is true. Throws as StageReader does.
  GatherReader(std::unique_ptr<ReaderBase>&& reader, std::vector<SlotSpec> slots,
               bool keeps_slots = false);

  // Called before Gather, and may take memory of a pool. If it throws, such as a refusal of memory
  // ahead of need, it is called again for the same element.
  virtual void MakeRoom() {}
  // Takes the next element of the reader below, and calls Yield for each element that is complete
  // now. An error that it throws comes in the place of the element, after what was yielded. It must
  // not take memory of a pool.
  virtual void Gather(const Ref<GatheredPart>& part) = 0;
  // The pass of the reader below is over: calls Yield for what is left.
  virtual void GatherRest() {}
  // Drops what is gathered, because another pass begins.
  virtual void Forget() {}
  // Checks a gathered element that a position names: throws kInvalidArgument unless this reader
  // could have yielded it, as far as LoadGathered relies on that. Its pieces are already known to
  // lie within their parts.
  virtual void CheckGathered(const Gathered&) const {}
  // Appends an element. Any thread.
  virtual void LoadGathered(const Gathered& gathered, Rows* rows) const = 0;

  void PlanNext(size_t n, TicketRun* run) override;
  void Rewind(uint64_t pass) override;
  // Writes what is ready and what comes next. A derived class adds its settings and what it keeps:
  // gathered elements by NamesOf, from which GatherAgain makes them again. If Gather throws, it
  // must not have changed what the class keeps.
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;
  ElementNames NamesOf(const std::vector<const Gathered*>& gathered) const;
  std::vector<Ref<Gathered>> GatherAgain(const ElementNames& names);
  // Loads elements of the reader below that a position names.
  std::vector<Ref<GatheredPart>> LoadPartsAgain(const ElementNames& names);
  void Yield(Ref<Gathered> gathered) { ready_.push_back(std::move(gathered)); }

 private:
  // Gathers one more element, or the rest. False at the end of the pass.
  bool Advance();
  // Plans more elements of the reader below; false at the end of its pass.
  bool Refill();

  std::deque<Ref<Gathered>> ready_;
  TicketRun fresh_;  // loaded elements below
  size_t next_ = 0;  // in fresh_
  size_t planned_at_once_ = 1;
  bool end_ = false;          // of this pass
  bool failed_ = false;       // Gather has thrown
  std::exception_ptr error_;  // comes after fresh_
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_GATHER_GATHER_READER_H_
