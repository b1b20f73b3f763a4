// SPDX-License-Identifier: Apache-2.0
// The counts of a reader. They are always on: a reader counts once per call and per run of tickets,
// not per record, so counting costs nearly nothing.
#ifndef MILLHOPPER_FRAMEWORK_READER_READER_COUNTERS_H_
#define MILLHOPPER_FRAMEWORK_READER_READER_COUNTERS_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "framework/base/lane_context.h"

namespace millhopper {

using CounterClock = std::chrono::steady_clock;

// The counts of one reader, as ChainStats explains them. Any thread reads them at any time.
class ReaderCounters {
 public:
  // One thread at a time.
  void AddPlanned(size_t n) { planned_.store(planned() + n, std::memory_order_relaxed); }
  // Any thread. A reader may be loaded element by element, so each thread has its own place to
  // count in.
  void AddLoaded(size_t n);
  void AddLoadTime(CounterClock::duration time) { Add(time, &load_nanoseconds_); }
  void AddWaitTime(CounterClock::duration time) { Add(time, &wait_nanoseconds_); }
  // The sum to which CountedReads adds bytes of files.
  std::atomic<uint64_t>* sum_of_bytes_read() { return &bytes_read_; }

  uint64_t planned() const { return planned_.load(std::memory_order_relaxed); }
  uint64_t loaded() const;
  uint64_t bytes_read() const { return bytes_read_.load(std::memory_order_relaxed); }
  double load_seconds() const { return Seconds(load_nanoseconds_); }
  double wait_seconds() const { return Seconds(wait_nanoseconds_); }

 private:
  // The last place is shared by all threads for which no own place is left.
  static constexpr size_t kPlaces = 16;
  struct alignas(64) Place {
    std::atomic<uint64_t> loaded{0};
  };
  class PlaceOfThread;

  static void Add(CounterClock::duration time, std::atomic<int64_t>* sum) {
    sum->fetch_add(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count(),
                   std::memory_order_relaxed);
  }
  static double Seconds(const std::atomic<int64_t>& sum) {
    return static_cast<double>(sum.load(std::memory_order_relaxed)) * 1e-9;
  }

  std::atomic<uint64_t> planned_{0};
  std::atomic<uint64_t> bytes_read_{0};
  std::atomic<int64_t> load_nanoseconds_{0};
  std::atomic<int64_t> wait_nanoseconds_{0};
  std::array<Place, kPlaces> places_;
};

// Measures a scope in which a reader holds up the calling thread. Nested timers of one reader count
// once.
class WaitTimer {
 public:
  // Null measures for no reader.
  explicit WaitTimer(ReaderCounters* counters);
  ~WaitTimer() { Stop(); }
  WaitTimer(const WaitTimer&) = delete;
  WaitTimer& operator=(const WaitTimer&) = delete;

  // Ends the scope and returns its length. Only for the innermost timer of the thread.
  CounterClock::duration Stop();
  // The time that the calling thread has waited so far, over all scopes that have ended.
  static CounterClock::duration OfThread() { return ThisLane().waited; }

 private:
  ReaderCounters* const counters_;
  const WaitTimer* const outer_;
  const CounterClock::duration before_;
  const CounterClock::time_point begin_;
  bool stopped_ = false;
};

// Measures a scope in which the calling thread loads for a reader, without the time that it waits.
class LoadTimer {
 public:
  // Null counts for no reader.
  explicit LoadTimer(ReaderCounters* counters)
      : counters_(counters), waited_(WaitTimer::OfThread()), begin_(CounterClock::now()) {}
  ~LoadTimer() {
    if (!stopped_) Stop();
  }
  LoadTimer(const LoadTimer&) = delete;
  LoadTimer& operator=(const LoadTimer&) = delete;

  // Ends the scope and returns its length, waits included.
  CounterClock::duration Stop();

 private:
  ReaderCounters* const counters_;
  const CounterClock::duration waited_;
  const CounterClock::time_point begin_;
  bool stopped_ = false;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_READER_READER_COUNTERS_H_
