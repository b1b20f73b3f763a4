// SPDX-License-Identifier: Apache-2.0
#include "readers/decorate/shuffle_reader.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "framework/base/error.h"

namespace millhopper {
namespace {

// How many elements one Plan call asks for, and about how many bytes they have together: enough to
// make the call cheap, but few, because elements not yet copied keep their chunks in memory.
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
  this->reader().ExpectWindow();
}

ShuffleReader::~ShuffleReader() { Empty(); }

void ShuffleReader::PlanNext(size_t n, TicketRun* run) {
  const MemoryScope scope(account());
  try {
    FillWindow();
    const Ref<RecordStore::Lease> lease = store_->NewLease();
    while (n > 0) {
      if (handed_ == drawn_) Draw(n);
      if (drawn_ == 0) break;
      TakeOut();
      n -= HandOver(n, lease.get(), run);
    }
  } catch (const Error& error) {
    throw WithWholeWindow(error);
  }
  in_store_.store(window_.size() + fresh_.tickets.size() - next_, std::memory_order_relaxed);
  if (n > 0 && error_ != nullptr) std::rethrow_exception(error_);
}

void ShuffleReader::FillWindow() {
  while (window_.size() < buffer_size_ && Fresh() > 0) {
    const size_t held = window_.size();
    if (held == window_.capacity()) {
      window_.reserve(std::min(buffer_size_, 2 * held + kDrawnAtOnce));
    }
    Ticket* slots[kDrawnAtOnce];
    const size_t n =
        std::min({kDrawnAtOnce, window_.capacity() - held, buffer_size_ - held, Fresh()});
    store_->Put(&fresh_.tickets[next_], n, slots);
    window_.insert(window_.end(), slots, slots + n);
    next_ += n;
  }
}

Error ShuffleReader::WithWholeWindow(const Error& error) const {
  const OutOfMemory* const memory = error.out_of_memory();
  if (memory == nullptr || memory->needed == 0) return error;
  size_t bytes = 0;
  size_t count = 0;
  const auto add = [&](const Ticket& ticket) {
    bytes += RecordStore::BytesFor(ticket);
    ++count;
  };
  for (const Ticket* const slot : window_) add(*slot);
  for (size_t i = next_; i < fresh_.tickets.size(); ++i) add(fresh_.tickets[i]);
  const size_t element = count == 0 ? memory->element : bytes / count + 1;
  constexpr size_t kBeyondReach = size_t{1} << 50;
  const size_t missing =
      std::min(buffer_size_ - std::min(buffer_size_, window_.size()), kBeyondReach / (element + 1));
  return MemoryLimit::Advised(error, memory->needed + missing * element, element);
}

// Places are random, so the elements in them are prefetched into the cache.
void ShuffleReader::Draw(size_t n) {
  drawn_ = taken_ = handed_ = 0;
  const size_t window = window_.size();
  if (window == 0) return;
  const size_t fresh = Fresh();
  refilled_ = fresh > 0;
  drawn_ = std::min({n, kDrawnAtOnce, refilled_ ? fresh : window});
  for (size_t i = 0; i < drawn_; ++i) {
    places_[i] = key_.Below(refilled_ ? window : window - i, pass_, draws_ + i);
    const auto* element = reinterpret_cast<const char*>(window_[places_[i]]);
    __builtin_prefetch(element);
    __builtin_prefetch(element + kCacheLine);
  }
  draws_ += drawn_;
}

void ShuffleReader::TakeOut() {
  Ticket** const window = window_.data();
  if (!refilled_) {
    for (; taken_ < drawn_; ++taken_) {
      out_[taken_] = std::exchange(window[places_[taken_]], window_.back());
      window_.pop_back();
    }
    return;
  }
  if (taken_ == drawn_) return;
  Ticket* slots[kDrawnAtOnce];
  store_->Put(&fresh_.tickets[next_], drawn_, slots);
  for (size_t i = 0; i < drawn_; ++i) out_[i] = std::exchange(window[places_[i]], slots[i]);
  taken_ = drawn_;
  next_ += drawn_;
  // Records of the next round may still lie in the cache of the worker thread that read them.
  const size_t end = std::min(next_ + kDrawnAtOnce, fresh_.tickets.size());
  for (size_t i = next_; i < end; ++i) __builtin_prefetch(fresh_.tickets[i].bytes);
}

size_t ShuffleReader::HandOver(size_t n, RecordStore::Lease* lease, TicketRun* run) {
  const size_t begin = handed_;
  const size_t end = std::min(taken_, begin + n);
  lease->MakeRoom(end - begin);
  run->Keep(lease);
  while (handed_ < end) {
    Ticket* const* const slots = &out_[handed_];
    if (!RecordStore::HoldsBytes(**slots)) {
      run->Add(**slots);
      store_->Drop(*slots);
      ++handed_;
      continue;
    }
    size_t held = 1;
    while (handed_ + held < end && RecordStore::HoldsBytes(*slots[held])) ++held;
    const auto leased = [slots, lease](size_t i) {
      Ticket ticket = *slots[i];
      ticket.owner = lease;
      return ticket;
    };
    AppendEach(held, leased, &run->tickets);
    lease->Add(slots, held);
    handed_ += held;
  }
  return end - begin;
}

size_t ShuffleReader::Fresh() {
  if (next_ < fresh_.tickets.size()) return fresh_.tickets.size() - next_;
  fresh_.Clear();
  next_ = 0;
  if (end_) return 0;
  try {
    end_ = reader().Plan(planned_at_once_, &fresh_) == 0;
  } catch (...) {
    if (CurrentError().interrupts()) throw;
    error_ = std::current_exception();
    end_ = true;
  }
  if (end_) return 0;
  size_t bytes = 1;
  for (const Ticket& planned : fresh_.tickets) bytes += planned.size;
  planned_at_once_ = std::clamp<size_t>(kPlannedBytes * fresh_.tickets.size() / bytes, 1,
                                        std::min(kMostPlannedAtOnce, buffer_size_));
  return fresh_.tickets.size();
}

void ShuffleReader::Empty() {
  // A place is null if planning its element again has failed.
  const auto drop = [this](Ticket* slot) {
    if (slot != nullptr) store_->Drop(slot);
  };
  std::for_each(window_.begin(), window_.end(), drop);
  window_.clear();
  for (; handed_ < taken_; ++handed_) drop(out_[handed_]);
  drawn_ = taken_ = handed_ = 0;
  fresh_.Clear();
  next_ = 0;
  in_store_.store(0, std::memory_order_relaxed);
}

void ShuffleReader::Rewind(uint64_t pass) {
  Empty();
  end_ = false;
  error_ = nullptr;
  pass_ = pass;
  draws_ = 0;
  DecoratedReader::Rewind(pass);
}

// Draws that have not taken out their elements yet are not saved: they are drawn again, with the
// same places.
void ShuffleReader::SaveState(ReaderState* state) const {
  state->Setting("buffer_size", buffer_size_);
  state->Setting("random_key", key_.Bits(0, 0));
  state->Set("pass", pass_);
  state->Set("draws", draws_ - (drawn_ - taken_));
  // If other readers share the reader below, this decides which elements they get.
  state->Set("planned_at_once", planned_at_once_);
  state->SetElements("window", NamesOf(window_.data(), window_.size()));
  if (handed_ < taken_) {
    state->SetElements("drawn", NamesOf(&out_[handed_], taken_ - handed_));
  }
  if (next_ == fresh_.tickets.size()) return;
  ElementNames fresh;
  reader().NameElements(&fresh_.tickets[next_], fresh_.tickets.size() - next_, &fresh);
  state->SetElements("fresh", std::move(fresh));
}

ElementNames ShuffleReader::NamesOf(Ticket* const* slots, size_t n) const {
  ElementNames names;
  if (n == 0) return names;
  std::vector<Ticket> tickets;
  tickets.reserve(n);
  for (size_t i = 0; i < n; ++i) tickets.push_back(*slots[i]);
  reader().NameElements(tickets.data(), n, &names);
  return names;
}

// The end of the reader below, or its error, comes again by itself.
void ShuffleReader::RestoreState(const ReaderState& state) {
  pass_ = state.Get("pass");
  draws_ = state.Get("draws");
  if (state.Has("planned_at_once")) {
    planned_at_once_ = std::max<size_t>(1, state.Get("planned_at_once", kMostPlannedAtOnce));
  }
  const ElementNames& window = state.Elements("window");
  if (window.count > buffer_size_) state.Fail(window.count, " elements in the window");
  reader().PlanAgain(window, [this](size_t place, const Ticket& ticket) {
    if (place >= window_.size()) window_.resize(place + 1);
    store_->Put(&ticket, 1, &window_[place]);
  });
  const ElementNames& drawn = state.Elements("drawn");
  if (drawn.count > out_.size()) state.Fail(drawn.count, " elements are drawn");
  out_.fill(nullptr);
  drawn_ = taken_ = drawn.count;
  reader().PlanAgain(
      drawn, [this](size_t place, const Ticket& ticket) { store_->Put(&ticket, 1, &out_[place]); });
  reader().PlanRunAgain(state.Elements("fresh"), &fresh_);
  in_store_.store(window_.size() + fresh_.tickets.size(), std::memory_order_relaxed);
}

}  // namespace millhopper
