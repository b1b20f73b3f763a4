// SPDX-License-Identifier: Apache-2.0
#include "framework/reader/reader_counters.h"

#include <utility>

namespace millhopper {

// The index of the place that a thread counts in, in every reader. When the thread ends, another
// thread may get it.
class ReaderCounters::PlaceOfThread {
 public:
  PlaceOfThread() {
    uint32_t taken = taken_.load();
    do {
      place_ = static_cast<size_t>(__builtin_ctz(~taken));  // the first that is free
    } while (place_ < kShared && !taken_.compare_exchange_weak(taken, taken | 1u << place_));
  }
  ~PlaceOfThread() {
    // Code that the thread runs after this destructor counts in the shared place.
    const size_t own = std::exchange(place_, kShared);
    if (own < kShared) taken_.fetch_and(~(1u << own));
  }
  size_t place() const { return place_; }

  static constexpr size_t kShared = kPlaces - 1;

 private:
  static std::atomic<uint32_t> taken_;  // one bit for each place

  size_t place_;
};

std::atomic<uint32_t> ReaderCounters::PlaceOfThread::taken_{0};

void ReaderCounters::AddLoaded(size_t n) {
  static thread_local PlaceOfThread of_thread;
  const size_t place = of_thread.place();
  std::atomic<uint64_t>& sum = places_[place].loaded;
  if (place == PlaceOfThread::kShared) {
    sum.fetch_add(n, std::memory_order_relaxed);
  } else {
    sum.store(sum.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
}

uint64_t ReaderCounters::loaded() const {
  uint64_t sum = 0;
  for (const Place& place : places_) sum += place.loaded.load(std::memory_order_relaxed);
  return sum;
}

WaitTimer::WaitTimer(ReaderCounters* counters)
    : counters_(counters),
      outer_(std::exchange(ThisLane().timer, this)),
      before_(OfThread()),
      begin_(CounterClock::now()) {}

CounterClock::duration WaitTimer::Stop() {
  if (stopped_) return {};
  stopped_ = true;
  const CounterClock::duration time = CounterClock::now() - begin_;
  ThisLane().timer = outer_;
  ThisLane().waited = before_ + time;  // includes waits of nested timers
  const WaitTimer* outer = outer_;
  while (outer != nullptr && outer->counters_ != counters_) outer = outer->outer_;
  if (outer == nullptr && counters_ != nullptr) counters_->AddWaitTime(time);
  return time;
}

CounterClock::duration LoadTimer::Stop() {
  stopped_ = true;
  const CounterClock::duration time = CounterClock::now() - begin_;
  if (counters_ != nullptr) counters_->AddLoadTime(time - (WaitTimer::OfThread() - waited_));
  return time;
}

}  // namespace millhopper
