// SPDX-License-Identifier: Apache-2.0
#include "framework/reader/reader_counters.h"

namespace millhopper {

thread_local CounterClock::duration WaitTimer::of_thread_{0};
thread_local const WaitTimer* WaitTimer::innermost_ = nullptr;

void ReaderCounters::AddLoaded(size_t n) {
  const size_t place = ThreadPlace();
  std::atomic<uint64_t>& sum = places_[place].loaded;
  if (place == kThreadPlaces - 1) {
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
    : counters_(counters), outer_(innermost_), before_(of_thread_), begin_(CounterClock::now()) {
  innermost_ = this;
}

CounterClock::duration WaitTimer::Stop() {
  if (stopped_) return {};
  stopped_ = true;
  const CounterClock::duration time = CounterClock::now() - begin_;
  innermost_ = outer_;
  of_thread_ = before_ + time;  // includes waits of nested timers
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
