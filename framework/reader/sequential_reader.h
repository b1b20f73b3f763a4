// SPDX-License-Identifier: Apache-2.0
// The simplest way to write a reader: produce the next element, go back to the beginning.
#ifndef MILLHOPPER_FRAMEWORK_READER_SEQUENTIAL_READER_H_
#define MILLHOPPER_FRAMEWORK_READER_SEQUENTIAL_READER_H_

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
  // Goes back to the first element.
  virtual void ReInitImpl() = 0;

 private:
  class Element;

  void Add(Element* element, TicketRun* run);
  void PlanNext(size_t n, TicketRun* run) final;
  void Rewind(uint64_t pass) final;

  uint64_t pass_ = 0;
  uint64_t sample_ = 0;
  bool end_ = false;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_READER_SEQUENTIAL_READER_H_
