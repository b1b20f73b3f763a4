// SPDX-License-Identifier: Apache-2.0
#include "readers/shuffle_reader.h"

#include <algorithm>
#include <utility>

#include "framework/error.h"

namespace millrace {
namespace {

// How many elements are asked for at once, and of about how many bytes together: enough to make the
// call cheap, few enough that what is planned and not yet copied keeps hardly any chunk alive.
constexpr size_t kMostPlannedAtOnce = 256;
constexpr uint64_t kDrawsPrefetched = 8;
constexpr size_t kPlannedBytes = size_t{1} << 20;

// Whether the window has copied a ticket into a slot of its store.
bool InSlot(const Ticket& ticket) { return ticket.bytes && ticket.owner == nullptr; }

}  // namespace

ShuffleReader::ShuffleReader(std::unique_ptr<ReaderBase> reader, int64_t buffer_size,
                             const RandomKey& key)
    : DecoratedReader(std::move(reader)),
      buffer_size_(static_cast<size_t>(buffer_size)),
      key_(key),
      store_(new RecordStore) {
  Require(buffer_size >= 1, "buffer_size is ", buffer_size, "; it must be at least 1");
}

ShuffleReader::~ShuffleReader() { Empty(); }

void ShuffleReader::PlanNext(size_t n, Run* run) {
  const MemoryScope scope(account());
  while (window_.size() < buffer_size_ && TakeNext()) {
  }
  Ref<RecordStore::Lease> lease = store_->NewLease();
  for (; n > 0 && !window_.empty(); --n) {
    // Draws are at random, so the cache has to be told: right as long as the window is full.
    const size_t soon = key_.Below(window_.size(), pass_, drawn_ + kDrawsPrefetched);
    __builtin_prefetch(&window_[soon], 1);
    __builtin_prefetch(&window_[soon].record, 1);  // perhaps on the next line of the cache
    const size_t index = key_.Below(window_.size(), pass_, drawn_++);
    TakeNext();  // for the place of what is drawn
    Ticket drawn = window_[index];
    // An error from here on leaves it either to the window or to the run.
    const bool in_slot = InSlot(drawn);
    if (in_slot) {
      if (lease->empty()) run->Keep(lease.get());
      lease->Add(drawn);
      drawn.owner = lease.get();
    } else if (drawn.owner != nullptr) {
      run->Keep(drawn.owner);
      drawn.owner->Release();
    }
    window_[index] = window_.back();
    window_.pop_back();
    run->tickets.push_back(drawn);
  }
  if (n > 0 && error_ != nullptr) std::rethrow_exception(error_);
}

bool ShuffleReader::TakeNext() {
  if (next_ == fresh_.tickets.size()) {
    fresh_.Clear();
    next_ = 0;
    if (end_) return false;
    try {
      end_ = reader().Plan(planned_at_once_, &fresh_) == 0;
    } catch (...) {
      error_ = std::current_exception();
      end_ = true;
    }
    if (end_) return false;
    size_t bytes = 1;
    for (const Ticket& planned : fresh_.tickets) bytes += planned.bytes ? planned.size : 0;
    planned_at_once_ = std::clamp<size_t>(kPlannedBytes * fresh_.tickets.size() / bytes, 1,
                                          std::min(kMostPlannedAtOnce, buffer_size_));
  }
  // Room comes first: what is taken must not be lost.
  if (window_.size() == window_.capacity()) {
    window_.reserve(std::min(buffer_size_ + 1, 2 * window_.size() + kMostPlannedAtOnce));
  }
  Ticket ticket = fresh_.tickets[next_];
  if (ticket.bytes) {
    store_->Copy(&ticket);
  } else if (ticket.owner != nullptr) {
    ticket.owner->Retain();
  }
  window_.push_back(ticket);
  ++next_;
  return true;
}

void ShuffleReader::Empty() {
  for (const Ticket& ticket : window_) {
    if (InSlot(ticket)) {
      store_->Drop(ticket);
    } else if (ticket.owner != nullptr) {
      ticket.owner->Release();
    }
  }
  window_.clear();
  fresh_.Clear();
  next_ = 0;
}

void ShuffleReader::Rewind(uint64_t pass) {
  Empty();
  end_ = false;
  error_ = nullptr;
  pass_ = pass;
  drawn_ = 0;
  DecoratedReader::Rewind(pass);
}

}  // namespace millrace
