// SPDX-License-Identifier: Apache-2.0
// A line at the bottom of the terminal, or lines of a log, that say how far the work is.
#ifndef MILLHOPPER_FRAMEWORK_IO_STATUS_LINE_H_
#define MILLHOPPER_FRAMEWORK_IO_STATUS_LINE_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <string>
#include <thread>

#include "framework/base/mutex.h"

namespace millhopper {

// How far the work is if `done` of `total` took `seconds`: "42%, 1:07 left"; "" while nothing is
// done, or if the total is not known (0). Assumes that the rest is as fast.
std::string ProgressText(double done, double total, double seconds);

// Work since the construction, of which the whole is `total` in any unit; 0 if that is not known.
class Progress {
 public:
  explicit Progress(double total) : total_(total) {}

  // What a status line says when `done` is done: "42%, 1:07 left, 3 chunks" with "3 chunks" for
  // `what`, or `what` alone.
  std::string Line(double done, const std::string& what) const;

 private:
  using Clock = std::chrono::steady_clock;

  const double total_;
  const Clock::time_point started_ = Clock::now();
};

// The line, written ten times a second. Does nothing if standard error is not a terminal, unless it
// is told to log, or if no thread can be started for it.
class StatusLine {
 public:
  // How often long work says in a log that it goes on.
  static constexpr std::chrono::milliseconds kLogged{10'000};

  // The status thread calls `text`, until the destructor has returned, or until `text` throws: the
  // line stays as it is then, because the work does not depend on it. With `logged` above 0,
  // standard error that is no terminal gets another line so often, the first one after that time.
  explicit StatusLine(std::function<std::string()> text, std::chrono::milliseconds logged = {});
  // Erases the line of a terminal.
  ~StatusLine();
  // Whether standard error is a terminal.
  static bool IsShown();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

 private:
  void Show();

  const std::function<std::string()> text_;
  const bool is_terminal_ = IsShown();
  const std::chrono::milliseconds every_;
  Mutex mutex_;
  std::condition_variable wake_;
  bool done_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_STATUS_LINE_H_
