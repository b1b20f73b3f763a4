// SPDX-License-Identifier: Apache-2.0
// A mutex with two kinds of holders. A worker may wait for something outside of the process, such
// as a server, while it holds the mutex. Others need the mutex only for a moment: to save, restart
// or destroy. These have the right of way: when one waits for the mutex, the worker leaves its
// waits (CancelScope, kWaits), releases the mutex, and continues when it has it again.
#ifndef MILLHOPPER_FRAMEWORK_BASE_YIELDING_MUTEX_H_
#define MILLHOPPER_FRAMEWORK_BASE_YIELDING_MUTEX_H_

#include <atomic>
#include <mutex>

#include "framework/base/stop.h"

namespace millhopper {

class YieldingMutex {
 public:
  using Lock = std::unique_lock<std::mutex>;

  // For work that may wait, which is done within a scope of Yields. Throws as CheckWait.
  Lock LockToWork() {
    Lock lock = TryLockToWork();
    for (Backoff backoff; !lock; lock = TryLockToWork()) {
      CheckWait();
      backoff.Pause();
    }
    return lock;
  }
  Lock TryLockToWork() {
    Lock lock(mutex_, std::defer_lock);
    if (!IsWanted()) static_cast<void>(lock.try_lock());
    return lock;
  }
  // With the right of way.
  Lock LockAtOnce() {
    ++wanted_;
    Lock lock(mutex_);
    --wanted_;
    return lock;
  }
  // The same in two calls.
  void HoldAtOnce() { LockAtOnce().release(); }
  void LetGo() { mutex_.unlock(); }
  // Whether a thread with the right of way waits for it.
  bool IsWanted() const { return wanted_.load() > 0; }

 private:
  std::mutex mutex_;
  std::atomic<int> wanted_{0};
};

// While it lives, the calling thread, which holds the mutex, leaves its waits when a thread with
// the right of way wants the mutex.
class Yields final : public CancelScope {
 public:
  explicit Yields(const YieldingMutex& mutex) : CancelScope(Of::kWaits), mutex_(mutex) {}

 private:
  bool IsOver() const override { return mutex_.IsWanted(); }

  const YieldingMutex& mutex_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_BASE_YIELDING_MUTEX_H_
