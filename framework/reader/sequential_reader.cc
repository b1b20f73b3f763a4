// SPDX-License-Identifier: Apache-2.0
#include "framework/reader/sequential_reader.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "framework/memory/memory_limit.h"

namespace millhopper {

// An element between Plan, which made it, and Load.
class SequentialReader::Element final : public RefCounted {
 public:
  std::vector<LoDTensor> tensors;

 private:
  void Dispose() override {
    tensors.clear();
    Pool<Element>::Give(this);
  }
};

Ref<SequentialReader::Element> SequentialReader::Make() {
  const MemoryScope scope(account());
  const RunsToItsEnd whole;  // what ReadNextImpl has read by then could be lost
  try {
    Ref<Element> element = Pool<Element>::Take();
    end_ = !ReadNextImpl(&element->tensors);
    if (end_) return {};
    const std::vector<LoDTensor>& tensors = element->tensors;
    Require(tensors.size() == slots().size(), "an element of ", tensors.size(),
            " tensors from a reader of ", slots().size(), " slots");
    for (size_t i = 0; i < slots().size(); ++i) {
      Require(tensors[i].initialized(), "slot ", i, " of an element has no value");
    }
    CheckFits(slots(), tensors);
    ++made_;
    return element;
  } catch (...) {
    throw CurrentError().WithContext(ReadingRecord(made_));
  }
}

void SequentialReader::PlanNext(size_t n, TicketRun* run) {
  // ReadNextImpl cannot be repeated, so it is not called while memory may be refused.
  if (MemoryScope::IsAhead()) MemoryScope::ThrowRefused();
  const WaitTimer timer(counters());
  GoTo(pass_, sample_);
  for (; n > 0 && !end_; --n) {
    const Ref<Element> element = Make();
    if (!element) return;
    Ticket ticket;
    ticket.id.sample = sample_++;
    ticket.id.pass = pass_;
    ticket.owner = element.get();
    run->Add(ticket);
  }
}

void SequentialReader::LoadRows(const Ticket* tickets, size_t n, Rows* rows) const {
  for (size_t i = 0; i < n; ++i) rows->Append(tickets[i].object<Element>()->tensors);
}

void SequentialReader::Rewind(uint64_t pass) {
  made_of_pass_ = pass_ = pass;
  made_ = sample_ = 0;
  end_ = false;
  ReInitImpl();
}

void SequentialReader::GoTo(uint64_t pass, uint64_t count) {
  if (made_of_pass_ == pass && made_ == count) return;
  if (made_of_pass_ != pass || made_ > count || made_ == 0) {
    made_of_pass_ = pass;
    made_ = 0;
    end_ = false;
    try {
      GoToImpl(pass, count);
    } catch (const EndOfData&) {  // of another reader, as in Make
      throw CurrentError().WithContext(ReadingRecord(count));
    }
    made_ = count;
  } else {
    PassOver(count);
  }
}

void SequentialReader::PassOver(uint64_t count) {
  while (made_ < count) {
    CheckStop();  // there may be many
    Require(!end_ && Make(), "the position is after ", count, " elements of ", origin(),
            ", which has ", made_);
  }
}

void SequentialReader::GoToImpl(uint64_t /*pass*/, uint64_t count) {
  ReInitImpl();
  PassOver(count);
}

void SequentialReader::GoToPlace() { GoTo(pass_, sample_); }

void SequentialReader::SaveState(ReaderState* state) const {
  if (!IsRepeatable()) ReaderBase::SaveState(state);  // throws
  state->Set("pass", pass_);
  state->Set("taken", sample_);
}

void SequentialReader::RestoreState(const ReaderState& state) {
  pass_ = state.Get("pass");
  sample_ = state.Get("taken");
}

void SequentialReader::NameElements(const Ticket* tickets, size_t n, ElementNames* names) const {
  names->AddRecords(tickets, n);
}

void SequentialReader::PlanAgain(const ElementNames& names, const TakeElement& take) {
  names.CheckRecords(origin());
  if (names.count == 0) return;
  const std::vector<RecordId>& ids = names.records;
  std::vector<size_t> order(ids.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&ids](size_t a, size_t b) {
    return std::make_pair(ids[a].pass, ids[a].sample) < std::make_pair(ids[b].pass, ids[b].sample);
  });
  Ref<Element> element;
  for (const size_t i : order) {
    const RecordId& id = ids[i];
    const bool again = element && made_of_pass_ == id.pass && made_ == id.sample + 1;
    if (!again) {
      GoTo(id.pass, id.sample);
      element = Make();
      Require(static_cast<bool>(element), "the position names element ", id.sample, " of ",
              origin(), ", which has ", made_);
    }
    Ticket ticket;
    ticket.id = id;
    ticket.owner = element.get();
    take(i, ticket);
  }
  GoToPlace();  // now, because a worker that plans next must not wait for other threads
}

}  // namespace millhopper
