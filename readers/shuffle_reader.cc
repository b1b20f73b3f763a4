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
  while (window_.size() < buffer_size_ && Fresh() > 0) TakeNext(1);
  const Ref<RecordStore::Lease> lease = store_->NewLease();
  while (n > 0 && !window_.empty()) {
    const size_t window = window_.size();
    const size_t fresh = Fresh();
    const size_t draws = std::min({n, kDrawnAtOnce, fresh > 0 ? fresh : window});
    Draw(draws, fresh > 0);
    if (fresh > 0) TakeNext(draws);  // for the places of what is drawn
    HandOver(draws, lease.get(), run);
    n -= draws;
  }
  if (n > 0 && error_ != nullptr) std::rethrow_exception(error_);
}

// Places are at random, so the cache has to be told of them all: first of those in the window, and
// when they have come, of the elements that they point to.
void ShuffleReader::Draw(size_t n, bool refilled) {
  const size_t window = window_.size();
  for (size_t i = 0; i < n; ++i) {
    places_[i] = key_.Below(refilled ? window : window - i, pass_, drawn_ + i);
    __builtin_prefetch(&window_[places_[i]], 1);
  }
  for (size_t i = 0; i < n; ++i) {
    const auto* element = reinterpret_cast<const char*>(window_[places_[i]]);
    __builtin_prefetch(element);
    __builtin_prefetch(element + kCacheLine);
  }
  drawn_ += n;
}

void ShuffleReader::TakeNext(size_t n) {
  if (window_.capacity() - window_.size() < n) {
    window_.reserve(std::min(buffer_size_ + kDrawnAtOnce, 2 * window_.size() + n));
  }
  // Those that come next may lie in another core's cache, that of the worker who read them.
  const size_t soon = std::min(fresh_.tickets.size(), next_ + 2 * n);
  for (size_t i = next_ + n; i < soon; ++i) __builtin_prefetch(fresh_.tickets[i].where);
  for (size_t i = n; i-- > 0;) window_.push_back(store_->Put(fresh_.tickets[next_ + i]));
  next_ += n;
}

void ShuffleReader::HandOver(size_t n, RecordStore::Lease* lease, Run* run) {
  lease->MakeRoom(n);
  for (size_t i = 0; i < n; ++i) {
    Ticket*& place = window_[places_[i]];
    Ticket* const slot = place;
    // An error leaves it to the window.
    if (RecordStore::HoldsBytes(*slot)) {
      if (lease->empty()) run->Keep(lease);
      run->tickets.push_back(*slot);
      run->tickets.back().owner = lease;
      lease->Add(slot);
    } else {
      if (slot->owner != nullptr) run->Keep(slot->owner);
      run->tickets.push_back(*slot);
      store_->Drop(slot);
    }
    place = window_.back();
    window_.pop_back();
  }
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
