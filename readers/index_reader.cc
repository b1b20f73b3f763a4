// SPDX-License-Identifier: Apache-2.0
#include "readers/index_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

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
    Ticket ticket;
    ticket.id.pass = pass_;
    ticket.id.sample = next_;
    ticket.id.chunk = order_ ? (*order_)[next_] : next_;
    run->Add(ticket);
  }
}

void IndexReader::Rewind(uint64_t pass) {
  pass_ = pass;
  next_ = 0;
  order_.reset();
}

void IndexReader::LoadRows(const Ticket* tickets, size_t n, Rows* rows) const {
  char* place = rows->Append(0, n);
  for (size_t i = 0; i < n; ++i) {
    const auto number = static_cast<int64_t>(NumberOf(tickets[i]));
    std::memcpy(place + i * sizeof(number), &number, sizeof(number));
  }
}

}  // namespace millhopper
