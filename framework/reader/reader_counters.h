// SPDX-License-Identifier: Apache-2.0
// What a reader counts, always: per call and per run of tickets, so that it costs nothing where it
// matters.
#ifndef MILLHOPPER_FRAMEWORK_READER_READER_COUNTERS_H_
#define MILLHOPPER_FRAMEWORK_READER_READER_COUNTERS_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace millhopper {

using CounterClock = std::chrono::steady_clock;

// The counts of one reader, as ChainStats explains them. Any thread reads them at any time.
class ReaderCounters {
 public:
  // One thread at a time.
  void AddPlanned(size_t n) { planned_.store(planned() + n, std::memory_order_relaxed); }
  // Any thread. Readers may be loaded element by element, so threads count in places of their own.
  void AddLoaded(size_t n);
  void AddLoadTime(CounterClock::duration time) { Add(time, &load_nanoseconds_); }
  void AddWaitTime(CounterClock::duration time) { Add(time, &wait_nanoseconds_); }
  // What files give is added to it (CountedReads).
  std::atomic<uint64_t>* sum_of_bytes_read() { return &bytes_read_; }

  uint64_t planned() const { return planned_.load(std::memory_order_relaxed); }
  uint64_t loaded() const;
  uint64_t bytes_read() const { return bytes_read_.load(std::memory_order_relaxed); }
  double load_seconds() const { return Seconds(load_nanoseconds_); }
  double wait_seconds() const { return Seconds(wait_nanoseconds_); }

 private:
  // The last place is for all threads that are too many to have one of their own.
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

// The time of a scope in which the calling thread is held up by a reader. Timers of one reader
// within one another count once.
class WaitTimer {
 public:
  // Of no reader where it is null.
  explicit WaitTimer(ReaderCounters* counters);
  ~WaitTimer() { Stop(); }
  WaitTimer(const WaitTimer&) = delete;
  WaitTimer& operator=(const WaitTimer&) = delete;

  // Ends the scope; returns how long it was. The innermost timer of the thread only.
  CounterClock::duration Stop();
  // For how long the calling thread has waited by now, in all scopes that have ended.
  static CounterClock::duration OfThread() { return of_thread_; }

 private:
  static thread_local CounterClock::duration of_thread_;
  static thread_local const WaitTimer* innermost_;

  ReaderCounters* const counters_;
  const WaitTimer* const outer_;
  const CounterClock::duration before_;
  const CounterClock::time_point begin_;
  bool stopped_ = false;
};

// The time of a scope in which the calling thread loads for a reader, without what it waits in it.
class LoadTimer {
 public:
  // Counts `times` times: 0 is not at all.
  explicit LoadTimer(ReaderCounters* counters, int times = 1);
  ~LoadTimer();
  LoadTimer(const LoadTimer&) = delete;
  LoadTimer& operator=(const LoadTimer&) = delete;

 private:
  ReaderCounters* const counters_;
  const int times_;
  CounterClock::duration waited_;
  CounterClock::time_point begin_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_READER_READER_COUNTERS_H_
