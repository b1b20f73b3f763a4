// SPDX-License-Identifier: Apache-2.0
#include "readers/decorate/fake_reader.h"

#include <exception>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/mutex.h"
#include "framework/base/stop.h"
#include "framework/memory/attempt.h"

namespace millhopper {

// The first element: its ticket, and once a thread has loaded it, its tensors.
class FakeReader::Element final : public RefCounted {
 public:
  TicketRun run;

  // Any thread. Loads the element for the first caller. An error of loading is the error of every
  // call.
  const std::vector<LoDTensor>& Tensors(const ReaderBase& reader) {
    const LockOrStop lock(&mutex_);
    if (tensors_.empty() && error_ == nullptr) {
      const Attempt loading([&] {
        mutex_.AssertHeld();
        Load(reader);
      });
      loading.ThrowIfMayBeRepeated();
      error_ = loading.error();
    }
    if (error_ != nullptr) std::rethrow_exception(error_);
    return tensors_;
  }

 private:
  void Load(const ReaderBase& reader) REQUIRES(mutex_) {
    Rows rows(reader.row_slots());
    reader.Load(run.tickets.data(), 1, &rows);
    rows.MoveTo(&tensors_);
  }

  Mutex mutex_;
  std::vector<LoDTensor> tensors_ GUARDED_BY(mutex_);
  std::exception_ptr error_ GUARDED_BY(mutex_);
};

FakeReader::FakeReader(std::unique_ptr<ReaderBase> reader, int64_t count)
    : DecoratedReader(std::move(reader)), count_(static_cast<uint64_t>(count)) {
  Require(count >= 0, "count is ", count, "; it must be at least 0");
}

FakeReader::~FakeReader() = default;

size_t FakeReader::ElementsReady() const {
  const size_t ready = reader().ElementsReady();
  return ready == 0 ? 0 : kAnyNumber;
}

std::optional<uint64_t> FakeReader::PassLength() const {
  if (count_ == 0) return 0;
  const std::optional<uint64_t> below = reader().PassLength();
  if (!below) return std::nullopt;
  return *below == 0 ? 0 : count_;
}

void FakeReader::PlanNext(size_t n, TicketRun* run) {
  if (next_ == count_) return;
  if (!element_) {
    const Ref<Element> element(new Element);
    if (reader().Plan(1, &element->run) == 0) return;
    element_ = element;
  }
  run->Keep(element_.get());
  for (; n > 0 && next_ < count_; --n) {
    Ticket ticket;
    ticket.id = element_->run.tickets[0].id;
    ticket.id.sample = next_;
    ticket.owner = element_.get();
    run->Add(ticket);
    ++next_;
  }
}

void FakeReader::SaveState(ReaderState* state) const {
  state->Setting("count", count_);
  state->Set("next", next_);
  if (!element_) return;
  ElementNames element;
  reader().NameElements(element_->run.tickets.data(), 1, &element);
  state->SetElements("element", std::move(element));
}

void FakeReader::RestoreState(const ReaderState& state) {
  next_ = state.Get("next", count_);
  const ElementNames& names = state.Elements("element");
  if (names.count == 0) return;
  if (names.count != 1) state.Fail("it has ", names.count, " first elements");
  element_ = Ref<Element>(new Element);
  reader().PlanRunAgain(names, &element_->run);
}

void FakeReader::NameElements(const Ticket* tickets, size_t n, ElementNames* names) const {
  names->below.resize(1);
  for (size_t i = 0; i < n; ++i) {
    names->numbers.push_back(tickets[i].id.sample);
    reader().NameElements(tickets[i].object<Element>()->run.tickets.data(), 1, &names->below[0]);
  }
  names->count += n;
}

void FakeReader::PlanAgain(const ElementNames& names, const TakeElement& take) {
  if (names.count == 0) return;
  Require(names.numbers.size() == names.count && names.below.size() == 1 &&
              names.below[0].count == names.count,
          "the position names elements of ", origin(), " that make no sense");
  reader().PlanAgain(names.below[0], [&](size_t place, const Ticket& below) {
    const Ref<Element> element(new Element);
    element->run.Add(below);
    Ticket ticket;
    ticket.id = below.id;
    ticket.id.sample = names.numbers[place];
    ticket.owner = element.get();
    take(place, ticket);
  });
}

void FakeReader::Rewind(uint64_t pass) {
  element_ = Ref<Element>();
  next_ = 0;
  DecoratedReader::Rewind(pass);
}

void FakeReader::LoadRows(const Ticket* tickets, size_t n, Rows* rows) const {
  for (size_t i = 0; i < n; ++i) rows->Append(tickets[i].object<Element>()->Tensors(reader()));
}

}  // namespace millhopper
