// SPDX-License-Identifier: Apache-2.0
// Signals and the time limit of a command.
#ifndef MILLHOPPER_TOOLS_COMMANDS_SHARED_WATCHER_H_
#define MILLHOPPER_TOOLS_COMMANDS_SHARED_WATCHER_H_

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

  // From now on the first SIGTERM asks for a save (SaveRequested) and leaves the process five
  // seconds to save and end; a second signal ends it at once. Any thread.
  static void LetSave() { lets_save_.store(true); }
  // Whether the process should save and end. Any thread.
  static bool SaveRequested() { return save_requested_.load(std::memory_order_relaxed); }

  // The exit code of the process after a signal or the time limit; 0 before.
  int exit_code() const { return exit_code_.load(); }
  // Why the process was stopped, for people; "" if that is obvious.
  std::string ReasonText() const;

 private:
  using Clock = std::chrono::steady_clock;

  Watcher();
  // Returns the signal, 0 when the time is over, or kLookAgain if the wait was interrupted.
  int WaitForSignal(std::chrono::duration<double> left) const;
  // Returns a signal other than kLookAgain, or 0 when the time limit is reached.
  int WaitForSignalUntilLimit() const;
  // Returns a signal other than kLookAgain, or 0 when so much time has passed.
  int WaitForOther(Clock::duration grace) const;
  void Watch();

  static std::atomic<bool> lets_save_, save_requested_;

  const Clock::time_point started_ = Clock::now();
  sigset_t signals_;
  std::atomic<double> limit_seconds_{0};
  std::atomic<int> exit_code_{0};
  std::thread thread_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_SHARED_WATCHER_H_
