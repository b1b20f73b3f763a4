// SPDX-License-Identifier: Apache-2.0
#include "readers/sources/range_reader.h"

#include <cstring>
#include <utility>

#include "readers/sources/numbers_again.h"

namespace millhopper {
namespace {

std::vector<SlotSpec> OneNumber() {
  SlotSpec slot;
  slot.dtype = DataType::kInt64;
  slot.dims = {1};
  return {slot};
}

}  // namespace

RangeReader::RangeReader(uint64_t count, const std::optional<RandomKey>& key)
    : RangeReader(count, key, OneNumber()) {}

RangeReader::RangeReader(uint64_t count, const std::optional<RandomKey>& key,
                         std::vector<SlotSpec> slots)
    : ReaderBase(std::move(slots)), count_(count), key_(key) {}

void RangeReader::PlanNext(size_t n, TicketRun* run) {
  if (key_ && !order_) order_.emplace(count_, *key_, pass_);
  for (; n > 0 && next_ < count_; --n, ++next_) {
    run->Add(TicketOf(pass_, next_, order_ ? (*order_)[next_] : next_));
  }
}

Ticket RangeReader::TicketOf(uint64_t pass, uint64_t place, uint64_t number) {
  Ticket ticket;
  ticket.id.pass = pass;
  ticket.id.sample = place;
  ticket.id.chunk = number;
  return ticket;
}

void RangeReader::Rewind(uint64_t pass) {
  pass_ = pass;
  next_ = 0;
  order_.reset();
}

void RangeReader::SaveState(ReaderState* state) const {
  state->Setting("count", count_);
  if (key_) state->Setting("random_key", key_->Bits(0, 0));
  state->Set("pass", pass_);
  state->Set("next", next_);
}

void RangeReader::RestoreState(const ReaderState& state) {
  pass_ = state.Get("pass");
  next_ = state.Get("next", count_);
}

void RangeReader::RecordKeys(const Ticket* tickets, size_t n, uint64_t* keys) const {
  for (size_t i = 0; i < n; ++i) keys[i] = MixBits(NumberOf(tickets[i]));
}

void RangeReader::NameElements(const Ticket* tickets, size_t n, ElementNames* names) const {
  names->AddRecords(tickets, n);
}

void RangeReader::PlanAgain(const ElementNames& names, const TakeElement& take) {
  const std::vector<uint64_t> numbers = NumbersAgain(names, count_, key_, origin());
  for (size_t i = 0; i < numbers.size(); ++i) {
    take(i, TicketOf(names.records[i].pass, names.records[i].sample, numbers[i]));
  }
}

void RangeReader::LoadRows(const Ticket* tickets, size_t n, Rows* rows) const {
  char* place = rows->Append(0, n);
  for (size_t i = 0; i < n; ++i) {
    const auto number = static_cast<int64_t>(NumberOf(tickets[i]));
    std::memcpy(place + i * sizeof(number), &number, sizeof(number));
  }
}

}  // namespace millhopper
