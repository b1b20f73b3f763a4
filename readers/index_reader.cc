// SPDX-License-Identifier: Apache-2.0
#include "readers/index_reader.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "framework/base/error.h"

namespace millhopper {
namespace {

std::vector<SlotSpec> OneNumber() {
  SlotSpec slot;
  slot.dtype = DataType::kInt64;
  slot.dims = {1};
  return {slot};
}

}  // namespace

IndexReader::IndexReader(uint64_t count, const std::optional<RandomKey>& key)
    : IndexReader(count, key, OneNumber()) {}

IndexReader::IndexReader(uint64_t count, const std::optional<RandomKey>& key,
                         std::vector<SlotSpec> slots)
    : ReaderBase(std::move(slots)), count_(count), key_(key) {}

void IndexReader::PlanNext(size_t n, TicketRun* run) {
  if (key_ && !order_) order_.emplace(count_, *key_, pass_);
  for (; n > 0 && next_ < count_; --n, ++next_) {
    run->Add(TicketAt(pass_, next_, order_ ? &*order_ : nullptr));
  }
}

Ticket IndexReader::TicketAt(uint64_t pass, uint64_t place, const Permutation* order) {
  Ticket ticket;
  ticket.id.pass = pass;
  ticket.id.sample = place;
  ticket.id.chunk = order == nullptr ? place : (*order)[place];
  return ticket;
}

void IndexReader::Rewind(uint64_t pass) {
  pass_ = pass;
  next_ = 0;
  order_.reset();
}

void IndexReader::SaveState(ReaderState* state) const {
  state->Setting("count", count_);
  if (key_) state->Setting("random_key", key_->Bits(0, 0));
  state->Set("pass", pass_);
  state->Set("next", next_);
}

void IndexReader::RestoreState(const ReaderState& state) {
  pass_ = state.Get("pass");
  next_ = state.Get("next", count_);
}

void IndexReader::NameElements(const Ticket* tickets, size_t n, ElementNames* names) const {
  names->count += n;
  names->records.reserve(names->records.size() + n);
  for (size_t i = 0; i < n; ++i) names->records.push_back(tickets[i].id);
}

void IndexReader::PlanAgain(const ElementNames& names, const TakeElement& take) {
  Require(names.records.size() == names.count, "the position names ", names.count, " elements of ",
          origin(), ", but ", names.records.size(), " records");
  std::map<uint64_t, Permutation> orders;  // by pass
  for (size_t i = 0; i < names.count; ++i) {
    const RecordId& id = names.records[i];
    Require(id.sample < count_, "the position names element ", id.sample, " of the ", count_,
            " of ", origin());
    const Permutation* const order =
        key_ ? &orders.try_emplace(id.pass, count_, *key_, id.pass).first->second : nullptr;
    take(i, TicketAt(id.pass, id.sample, order));
  }
}

void IndexReader::LoadRows(const Ticket* tickets, size_t n, Rows* rows) const {
  char* place = rows->Append(0, n);
  for (size_t i = 0; i < n; ++i) {
    const auto number = static_cast<int64_t>(NumberOf(tickets[i]));
    std::memcpy(place + i * sizeof(number), &number, sizeof(number));
  }
}

}  // namespace millhopper
