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
constexpr size_t kPlannedBytes = size_t{1} << 20;
constexpr size_t kCacheLine = 64;
constexpr size_t kFetchedAhead = 16;

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
  while (window_.size() < buffer_size_ && Fresh() > 0) {
    if (window_.size() == window_.capacity()) {
      window_.reserve(std::min(buffer_size_, 2 * window_.size() + kDrawnAtOnce));
    }
    window_.push_back(store_->Put(fresh_.tickets[next_++]));
  }
  const Ref<RecordStore::Lease> lease = store_->NewLease();
  while (n > 0 && !window_.empty()) {
    const size_t window = window_.size();
    const size_t fresh = Fresh();
    const size_t draws = std::min({n, kDrawnAtOnce, fresh > 0 ? fresh : window});
    Draw(draws, fresh > 0);
    TakeOut(draws, fresh > 0);
    HandOver(lease.get(), run);
    n -= draws;
  }
  if (n > 0 && error_ != nullptr) std::rethrow_exception(error_);
}

// Places are at random, so the cache has to be told of the elements in them.
void ShuffleReader::Draw(size_t n, bool refilled) {
  const size_t window = window_.size();
  for (size_t i = 0; i < n; ++i) {
    places_[i] = key_.Below(refilled ? window : window - i, pass_, draws_ + i);
    const auto* element = reinterpret_cast<const char*>(window_[places_[i]]);
    __builtin_prefetch(element);
    __builtin_prefetch(element + kCacheLine);
  }
  draws_ += n;
}

void ShuffleReader::TakeOut(size_t n, bool refilled) {
  Ticket** const window = window_.data();
  if (!refilled) {
    for (; taken_ < n; ++taken_) {
      out_[taken_] = std::exchange(window[places_[taken_]], window_.back());
      window_.pop_back();
    }
    return;
  }
  const Ticket* const next = fresh_.tickets.data() + next_;
  const size_t last = fresh_.tickets.size() - next_ - 1;
  RecordStore& store = *store_;
  for (size_t i = 0; i < n; ++i) {
    // Records may lie in another core's cache, that of the worker who read them.
    __builtin_prefetch(next[std::min(i + kFetchedAhead, last)].where);
    Ticket* const slot = store.Put(next[i]);
    out_[i] = std::exchange(window[places_[i]], slot);
    taken_ = i + 1;
  }
  next_ += n;
}

void ShuffleReader::HandOver(RecordStore::Lease* lease, Run* run) {
  lease->MakeRoom(taken_);
  if (lease->empty()) run->Keep(lease);
  std::vector<Ticket>& tickets = run->tickets;
  for (; handed_ < taken_; ++handed_) {  // an error leaves the rest where it is
    Ticket* const slot = out_[handed_];
    if (RecordStore::HoldsBytes(*slot)) {
      tickets.push_back(*slot);
      tickets.back().owner = lease;
      lease->Add(slot);
    } else {
      if (slot->owner != nullptr) run->Keep(slot->owner);
      tickets.push_back(*slot);
      store_->Drop(slot);
    }
  }
  handed_ = taken_ = 0;
}

size_t ShuffleReader::Fresh() {
  if (next_ < fresh_.tickets.size()) return fresh_.tickets.size() - next_;
  fresh_.Clear();
  next_ = 0;
  if (end_) return 0;
  try {
    end_ = reader().Plan(planned_at_once_, &fresh_) == 0;
  } catch (...) {
    error_ = std::current_exception();
    end_ = true;
  }
  if (end_) return 0;
  size_t bytes = 1;
  for (const Ticket& planned : fresh_.tickets) bytes += planned.bytes ? planned.size : 0;
  planned_at_once_ = std::clamp<size_t>(kPlannedBytes * fresh_.tickets.size() / bytes, 1,
                                        std::min(kMostPlannedAtOnce, buffer_size_));
  return fresh_.tickets.size();
}

void ShuffleReader::Empty() {
  for (Ticket* const slot : window_) store_->Drop(slot);
  window_.clear();
  for (; handed_ < taken_; ++handed_) store_->Drop(out_[handed_]);
  handed_ = taken_ = 0;
  fresh_.Clear();
  next_ = 0;
}

void ShuffleReader::Rewind(uint64_t pass) {
  Empty();
  end_ = false;
  error_ = nullptr;
  pass_ = pass;
  draws_ = 0;
  DecoratedReader::Rewind(pass);
}

}  // namespace millrace
