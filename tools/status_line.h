// SPDX-License-Identifier: Apache-2.0
// A line at the bottom of the terminal that shows how far the work is.
#ifndef MILLHOPPER_TOOLS_STATUS_LINE_H_
#define MILLHOPPER_TOOLS_STATUS_LINE_H_

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace millhopper {

// How far work is of which `done` of `total` was done in `seconds`: "42%, 1:07 left"; "" while
// nothing is done, or if the total is not known (0). What is left is taken to be as fast.
std::string ProgressText(double done, double total, double seconds);

// The line, written ten times a second. Does nothing if standard error is not a terminal, or if no
// thread can be started for it.
class StatusLine {
 public:
  // The status thread calls `text`, until the destructor has returned.
  explicit StatusLine(std::function<std::string()> text);
  // Erases the line.
  ~StatusLine();
  // Whether standard error is a terminal.
  static bool IsShown();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

 private:
  void Show();

  const std::function<std::string()> text_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_STATUS_LINE_H_
