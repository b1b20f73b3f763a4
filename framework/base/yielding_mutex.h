// SPDX-License-Identifier: Apache-2.0
// A mutex with two kinds of holders. A worker may wait for something outside of the process, such
// as a server, while it holds the mutex. Others need the mutex only for a moment: to save, restart
// or destroy. These have the right of way: when one waits for the mutex, the worker leaves its
// waits (CancelScope, kWaits), releases the mutex, and continues when it has it again.
#ifndef MILLHOPPER_FRAMEWORK_BASE_YIELDING_MUTEX_H_
#define MILLHOPPER_FRAMEWORK_BASE_YIELDING_MUTEX_H_

#include <atomic>
#include <mutex>
#include <utility>

#include "framework/base/stop.h"
#include "framework/base/thread_annotations.h"

namespace millhopper {

class CAPABILITY("mutex") YieldingMutex {
 public:
  // For work that may wait, which is done within a scope of Yields. Throws as CheckWait.
  void LockToWork() ACQUIRE() {
    for (Backoff backoff; !TryLockToWork();) {
      CheckWait();
      backoff.Pause();
    }
  }
  bool TryLockToWork() TRY_ACQUIRE(true) { return !IsWanted() && mutex_.try_lock(); }
  // With the right of way.
  void LockAtOnce() ACQUIRE() {
    ++wanted_;
    mutex_.lock();
    --wanted_;
  }
  void Unlock() RELEASE() { mutex_.unlock(); }
  // Whether a thread with the right of way waits for it.
  bool IsWanted() const { return wanted_.load() > 0; }
  // Tells clang that the calling thread holds the mutex, where it cannot see that. Does nothing.
  void AssertHeld() const ASSERT_CAPABILITY(this) {}

 private:
  std::mutex mutex_;
  std::atomic<int> wanted_{0};
};

// Holds the mutex while it lives, to work.
class SCOPED_CAPABILITY LockToWork {
 public:
  explicit LockToWork(YieldingMutex* mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_->LockToWork(); }
  // Takes over a mutex that the calling thread has locked.
  LockToWork(YieldingMutex* mutex, std::adopt_lock_t) REQUIRES(mutex) : mutex_(mutex) {}
  ~LockToWork() RELEASE() {
    if (mutex_ != nullptr) mutex_->Unlock();
  }
  LockToWork(const LockToWork&) = delete;
  LockToWork& operator=(const LockToWork&) = delete;

  void Unlock() RELEASE() { std::exchange(mutex_, nullptr)->Unlock(); }

 private:
  YieldingMutex* mutex_;
};

// Holds the mutex while it lives, with the right of way.
class SCOPED_CAPABILITY LockAtOnce {
 public:
  explicit LockAtOnce(YieldingMutex* mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_->LockAtOnce(); }
  ~LockAtOnce() RELEASE() { mutex_->Unlock(); }
  LockAtOnce(const LockAtOnce&) = delete;
  LockAtOnce& operator=(const LockAtOnce&) = delete;

 private:
  YieldingMutex* const mutex_;
};

// While it lives, the calling thread, which holds the mutex, leaves its waits when a thread with
// the right of way wants the mutex.
class Yields final : public CancelScope {
 public:
  explicit Yields(const YieldingMutex& mutex) REQUIRES(mutex)
      : CancelScope(Of::kWaits), mutex_(mutex) {}

 private:
  bool IsOver() const override { return mutex_.IsWanted(); }

  const YieldingMutex& mutex_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_BASE_YIELDING_MUTEX_H_
