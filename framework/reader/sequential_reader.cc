// SPDX-License-Identifier: Apache-2.0
#include "framework/reader/sequential_reader.h"

#include "framework/base/error.h"
#include "framework/base/memory_limit.h"

namespace millhopper {

// An element between Plan, which made it, and Load.
class SequentialReader::Element final : public Kept {
 public:
  std::vector<LoDTensor> tensors;

 private:
  void Dispose() override {
    tensors.clear();
    Pool<Element>::Give(this);
  }
};

void SequentialReader::PlanNext(size_t n, TicketRun* run) {
  // ReadNextImpl cannot be repeated, so it is not called while memory may be refused.
  if (MemoryScope::IsAhead()) MemoryScope::ThrowRefused();
  const WaitTimer timer(counters());
  try {
    for (; n > 0 && !end_; --n) {
      const MemoryScope scope(account());
      Ref<Element> element = Pool<Element>::Take();
      end_ = !ReadNextImpl(&element->tensors);
      if (!end_) Add(element.get(), run);
    }
  } catch (...) {
    throw CurrentError().WithContext(ReadingRecord(sample_));
  }
}

void SequentialReader::Add(Element* element, TicketRun* run) {
  Require(element->tensors.size() == slots().size(), "an element of ", element->tensors.size(),
          " tensors from a reader of ", slots().size(), " slots");
  for (size_t i = 0; i < slots().size(); ++i) {
    Require(element->tensors[i].initialized(), "slot ", i, " of an element has no value");
  }
  CheckFits(slots(), element->tensors);
  Ticket ticket;
  ticket.id.sample = sample_++;
  ticket.id.pass = pass_;
  ticket.owner = element;
  run->Add(ticket);
}

void SequentialReader::LoadRows(const Ticket* tickets, size_t n, Rows* rows) const {
  for (size_t i = 0; i < n; ++i) rows->Append(tickets[i].object<Element>()->tensors);
}

void SequentialReader::Rewind(uint64_t pass) {
  pass_ = pass;
  sample_ = 0;
  end_ = false;
  ReInitImpl();
}

}  // namespace millhopper
