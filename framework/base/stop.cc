// SPDX-License-Identifier: Apache-2.0
#include "framework/base/stop.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "framework/base/error.h"

namespace millhopper {

namespace internal {
std::atomic<bool> stop_requested{false};
}  // namespace internal

CancelScope::CancelScope(Of of)
    : innermost_(of == Of::kWork ? &ThisLane().work : &ThisLane().waits),
      around_(std::exchange(*innermost_, this)) {}

CancelScope::~CancelScope() { *innermost_ = around_; }

bool CancelScope::AnyIsOver(CancelScope* scope) {
  for (; scope != nullptr; scope = scope->around_) {
    if (scope->over_.load(std::memory_order_relaxed)) return true;
    if (!scope->IsOver()) continue;
    scope->over_.store(true, std::memory_order_relaxed);
    return true;
  }
  return false;
}

bool CancelScope::WasLeft() {
  if (!IsWaitOver()) return false;
  try {
    throw;
  } catch (const Error& error) {
    return error.code() == ErrorCode::kCancelled;
  } catch (...) {
    return false;
  }
}

void RequestStop() { internal::stop_requested.store(true, std::memory_order_relaxed); }

void ClearStop() { internal::stop_requested.store(false, std::memory_order_relaxed); }

void ThrowStopped() { throw Error(ErrorCode::kCancelled, "stopped on request"); }

void Backoff::Pause() {
  constexpr int kSpins = 200;
  constexpr int kYields = 50;
  if (turns_ < kSpins + kYields) ++turns_;
  if (turns_ < kSpins) {
    __builtin_ia32_pause();
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  if (turns_ == kSpins) since_ = now;
  if (turns_ < kSpins + kYields) {
    std::this_thread::yield();
    return;
  }
  std::this_thread::sleep_for(
      std::min<std::chrono::nanoseconds>((now - since_) / 8, std::chrono::milliseconds(4)));
}

LockOrStop::LockOrStop(Mutex* mutex) : mutex_(mutex) {
  while (!mutex_->TryLockFor(std::chrono::milliseconds(4))) CheckWait();
}

}  // namespace millhopper
