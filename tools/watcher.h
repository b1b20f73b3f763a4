// SPDX-License-Identifier: Apache-2.0
// Signals and the time limit of a command.
#ifndef MILLHOPPER_TOOLS_WATCHER_H_
#define MILLHOPPER_TOOLS_WATCHER_H_

#include <signal.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <string>
#include <thread>

namespace millhopper {

// Its thread waits for signals and for the time limit, then requests a stop, and ends the process
// if it does not end by itself.
class Watcher {
 public:
  // Must be called before any other thread starts, so that every thread has the signals blocked. If
  // the watcher's thread cannot be started, blocks no signal, returns null and says why in
  // `failure`. The watcher lives until the process ends.
  static Watcher* Start(std::exception_ptr* failure);

  // Sets the limit, counted from the start of the watcher; 0 is no limit. One thread at a time.
  void SetLimit(double seconds);

  // The exit code of the process after a signal or the time limit; 0 before.
  int exit_code() const { return exit_code_.load(); }
  // What a person should know of why the process was stopped; "" if that is plain.
  std::string ReasonText() const;

 private:
  using Clock = std::chrono::steady_clock;

  Watcher();
  // Returns the signal, 0 when the time is over, or kLookAgain if the wait was interrupted.
  int WaitForSignal(std::chrono::duration<double> left) const;
  // Returns a signal other than kLookAgain, or 0 when the time limit is reached.
  int WaitForSignalUntilLimit() const;
  void Watch();

  const Clock::time_point started_ = Clock::now();
  sigset_t signals_;
  std::atomic<double> limit_seconds_{0};
  std::atomic<int> exit_code_{0};
  std::thread thread_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_WATCHER_H_
