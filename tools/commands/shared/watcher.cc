// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/shared/watcher.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "framework/io/output_file.h"
#include "tools/commands/shared/command.h"

namespace millhopper {
namespace {

constexpr std::chrono::milliseconds kGrace(80);          // for a clean stop after a signal
constexpr std::chrono::milliseconds kTimeoutGrace(500);  // and after --timeout

constexpr std::chrono::seconds kSavingGrace(5);  // for a save after SIGTERM

// SetLimit sends this signal to the watcher's thread, which then reads the limit again. If
// another process sends it, it has no effect, as by default.
constexpr int kLookAgain = SIGURG;

// Flushes standard output, unless another thread holds its lock or the write would have to wait.
void FlushWithoutWaiting() {
  pollfd output = {STDOUT_FILENO, POLLOUT, 0};
  if (ftrylockfile(stdout) != 0) return;
  if (poll(&output, 1, 0) == 1 && (output.revents & POLLOUT) != 0) fflush_unlocked(stdout);
  funlockfile(stdout);
}

}  // namespace

std::atomic<bool> Watcher::lets_save_{false};
std::atomic<bool> Watcher::save_requested_{false};

Watcher* Watcher::Start(std::exception_ptr* failure) {
  // By default SIGXFSZ ends the process. Ignored, it lets a write beyond the limit on the size of
  // files (ulimit -f) fail, which is reported.
  signal(SIGXFSZ, SIG_IGN);
  auto* watcher = new Watcher;
  pthread_sigmask(SIG_BLOCK, &watcher->signals_, nullptr);
  try {
    watcher->thread_ = std::thread([watcher] { watcher->Watch(); });
  } catch (...) {
    *failure = std::current_exception();
    pthread_sigmask(SIG_UNBLOCK, &watcher->signals_, nullptr);
    delete watcher;
    return nullptr;
  }
  return watcher;
}

void Watcher::SetLimit(double seconds) {
  if (seconds == limit_seconds_.exchange(seconds)) return;
  pthread_kill(thread_.native_handle(), kLookAgain);
}

std::string Watcher::ReasonText() const {
  const int code = exit_code();
  if (code == static_cast<int>(ErrorCode::kResourceLimit)) {
    return StrCat("stopped after --timeout=", limit_seconds_.load(), " seconds");
  }
  return code == 128 + SIGXCPU ? "stopped: the limit on processor time (ulimit -t) is reached" : "";
}

Watcher::Watcher() {
  sigemptyset(&signals_);
  for (const int number : {SIGINT, SIGTERM, SIGXCPU, kLookAgain}) sigaddset(&signals_, number);
  struct sigaction hang_up;
  const bool ignored = sigaction(SIGHUP, nullptr, &hang_up) == 0 && hang_up.sa_handler == SIG_IGN;
  if (!ignored) sigaddset(&signals_, SIGHUP);
}

int Watcher::WaitForSignal(std::chrono::duration<double> left) const {
  constexpr double kLongest = 1e9;
  const double seconds = std::clamp(left.count(), 0.0, kLongest);
  timespec time;
  time.tv_sec = static_cast<time_t>(seconds);
  time.tv_nsec = static_cast<int64_t>((seconds - std::floor(seconds)) * 1e9);
  const int number = sigtimedwait(&signals_, nullptr, &time);
  if (number > 0) return number;
  return errno == EAGAIN ? 0 : kLookAgain;
}

int Watcher::WaitForSignalUntilLimit() const {
  for (;;) {
    const double limit = limit_seconds_.load();
    std::chrono::duration<double> left = std::chrono::hours(1);
    if (limit > 0) left = started_ + std::chrono::duration<double>(limit) - Clock::now();
    const int number = WaitForSignal(left);
    if (number != kLookAgain && (number != 0 || limit > 0)) return number;
  }
}

int Watcher::WaitForOther(Clock::duration grace) const {
  const auto end = Clock::now() + grace;
  int number = kLookAgain;
  while (number == kLookAgain) number = WaitForSignal(end - Clock::now());
  return number;
}

void Watcher::Watch() {
  const int first = WaitForSignalUntilLimit();
  exit_code_.store(first > 0 ? 128 + first : static_cast<int>(ErrorCode::kResourceLimit));
  int second = 0;
  if (first == SIGTERM && lets_save_.load()) {
    save_requested_.store(true);
    second = WaitForOther(kSavingGrace);
  }
  RequestStop();
  if (second == 0) second = WaitForOther(first > 0 ? kGrace : kTimeoutGrace);
  if (second > 0) exit_code_.store(128 + second);
  AbandonOutputs();
  if (!ReasonText().empty()) PrintError(ReasonText());
  FlushWithoutWaiting();
  _exit(exit_code());
}

}  // namespace millhopper
