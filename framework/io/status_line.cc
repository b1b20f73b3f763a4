// SPDX-License-Identifier: Apache-2.0
#include "framework/io/status_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <system_error>
#include <utility>

namespace millhopper {
namespace {

constexpr size_t kStandardWidth = 80;

// The width of the terminal. A status line that is longer would take several lines.
size_t TerminalWidth() {
  winsize size = {};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kStandardWidth;
  return size.ws_col;
}

}  // namespace

std::string ProgressText(double done, double total, double seconds) {
  if (!(done > 0 && total > 0)) return "";
  // More than was foreseen may be done, where the total is an estimate.
  const double share = std::min(done / total, 1.0);
  const auto left = static_cast<int64_t>(std::ceil(seconds * std::max(total - done, 0.0) / done));
  constexpr int64_t kMinute = 60, kHour = 3600;
  char text[64];
  if (left >= kHour) {
    snprintf(text, sizeof(text), "%.0f%%, %lld:%02lld:%02lld left", std::floor(100 * share),
             static_cast<long long>(left / kHour), static_cast<long long>(left % kHour / kMinute),
             static_cast<long long>(left % kMinute));
  } else {
    snprintf(text, sizeof(text), "%.0f%%, %lld:%02lld left", std::floor(100 * share),
             static_cast<long long>(left / kMinute), static_cast<long long>(left % kMinute));
  }
  return text;
}

std::string Progress::Line(double done, const std::string& what) const {
  const std::chrono::duration<double> seconds = Clock::now() - started_;
  const std::string progress = ProgressText(done, total_, seconds.count());
  return progress.empty() ? what : progress + ", " + what;
}

bool StatusLine::IsShown() { return isatty(STDERR_FILENO) != 0; }

StatusLine::StatusLine(std::function<std::string()> text, std::chrono::milliseconds logged)
    : text_(std::move(text)), every_(is_terminal_ ? std::chrono::milliseconds(100) : logged) {
  if (every_ <= std::chrono::milliseconds::zero()) return;
  try {
    thread_ = std::thread([this] { Show(); });
  } catch (const std::system_error&) {  // the command works without a status line
  }
}

void StatusLine::Show() {
  MutexLock lock(&mutex_);
  // Waits before it shows the first line, so that short work shows none.
  while (!wake_.wait_for(lock.native(), every_, [this] {
    mutex_.AssertHeld();
    return done_;
  })) {
    try {
      const std::string line = text_();
      if (is_terminal_) {
        fprintf(stderr, "\r%s\033[K\r", line.substr(0, TerminalWidth() - 1).c_str());
      } else {
        fprintf(stderr, "%s\n", line.c_str());
      }
    } catch (...) {
      return;
    }
  }
}

StatusLine::~StatusLine() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(&mutex_);
    done_ = true;
  }
  wake_.notify_one();
  thread_.join();
  if (is_terminal_) fputs("\r\033[K", stderr);
}

}  // namespace millhopper
