// SPDX-License-Identifier: Apache-2.0
// The simplest way to write a reader: produce the next element, go back to the beginning.
#ifndef MILLHOPPER_FRAMEWORK_READER_SEQUENTIAL_READER_H_
#define MILLHOPPER_FRAMEWORK_READER_SEQUENTIAL_READER_H_

#include <cstdint>
#include <vector>

#include "framework/reader/reader.h"

namespace millhopper {

// A reader that makes its elements one by one, in order, and works in every chain: a plugin
// author's first reader, a generator, a network source. Heavy work is better written as a format or
// an operator, which run in parallel.
class SequentialReader : public ReaderBase {
 public:
  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const final;

 protected:
  explicit SequentialReader(std::vector<SlotSpec> slots) : ReaderBase(std::move(slots)) {}

  // Replaces *out by the next element, one tensor per slot, or returns false at the end. One thread
  // at a time; not called again after the end or an exception before ReInitImpl. The tensors are
  // checked against slots(). Whatever it throws is an error, even EndOfData of another reader.
  virtual bool ReadNextImpl(std::vector<LoDTensor>* out) = 0;
  // Goes back to the first element, of pass number pass().
  virtual void ReInitImpl() = 0;
  uint64_t pass() const { return pass_; }
  // Whether a pass can be repeated and then yields the same elements. Only such a reader can be
  // saved: its place is the number of elements that it has made.
  virtual bool IsRepeatable() const { return false; }
  // For a repeatable reader: goes to where `count` elements of pass number `pass` have been made,
  // so that ReadNextImpl makes the one after them. By default it goes back to the first element
  // and makes them again. Throws kInvalidArgument if there are not so many.
  virtual void GoToImpl(uint64_t pass, uint64_t count);
  // Calls GoToImpl now: in RestoreState, which otherwise leaves it to the next ReadNext.
  void GoToPlace();
  // A repeatable reader with settings adds them to what this writes.
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;

 private:
  class Element;

  // The next element, or null at the end.
  Ref<Element> Make();
  // Goes to where `count` elements of a pass have been made.
  void GoTo(uint64_t pass, uint64_t count);
  // Makes elements until there are so many of the pass.
  void PassOver(uint64_t count);
  void PlanNext(size_t n, TicketRun* run) final;
  void Rewind(uint64_t pass) final;
  void NameElements(const Ticket* tickets, size_t n, ElementNames* names) const final;
  // Goes back and makes the elements again.
  void PlanAgain(const ElementNames& names, const TakeElement& take) final;

  // What Plan does next, and where ReadNextImpl is: elsewhere after RestoreState and PlanAgain.
  uint64_t pass_ = 0, sample_ = 0;
  uint64_t made_of_pass_ = 0, made_ = 0;
  bool end_ = false;  // ReadNextImpl has returned false
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_READER_SEQUENTIAL_READER_H_
