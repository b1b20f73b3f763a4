// SPDX-License-Identifier: Apache-2.0
// std::mutex and its lock, with what clang needs to check that they are held where they must be
// (thread_annotations.h); those of libstdc++ do not have it.
#ifndef MILLHOPPER_FRAMEWORK_BASE_MUTEX_H_
#define MILLHOPPER_FRAMEWORK_BASE_MUTEX_H_

#include <pthread.h>
#include <time.h>

#include <chrono>
#include <cstdint>
#include <mutex>

#include "framework/base/thread_annotations.h"

namespace millhopper {

class CAPABILITY("mutex") Mutex {
 public:
  void Lock() ACQUIRE() { mutex_.lock(); }
  bool TryLock() TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  // Waits at most so long for the mutex.
  bool TryLockFor(std::chrono::nanoseconds time) TRY_ACQUIRE(true) {
    if (mutex_.try_lock()) return true;
    constexpr int64_t kSecond = 1000000000;
    timespec until;
    ::clock_gettime(CLOCK_REALTIME, &until);
    const int64_t nanoseconds = until.tv_nsec + time.count();
    until.tv_sec += nanoseconds / kSecond;
    until.tv_nsec = nanoseconds % kSecond;
    return ::pthread_mutex_timedlock(mutex_.native_handle(), &until) == 0;
  }
  void Unlock() RELEASE() { mutex_.unlock(); }
  // Tells clang that the calling thread holds the mutex, where it cannot see that. Does nothing.
  void AssertHeld() const ASSERT_CAPABILITY(this) {}

 private:
  friend class MutexLock;

  std::mutex mutex_;
};

// Holds a mutex while it lives, unless Unlock is called.
class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) ACQUIRE(mutex) : lock_(mutex->mutex_) {}
  // Takes over a mutex that the calling thread has locked.
  MutexLock(Mutex* mutex, std::adopt_lock_t adopt) REQUIRES(mutex) : lock_(mutex->mutex_, adopt) {}
  ~MutexLock() RELEASE() {}
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void Lock() ACQUIRE() { lock_.lock(); }
  void Unlock() RELEASE() { lock_.unlock(); }
  // For std::condition_variable, which returns with the mutex locked.
  std::unique_lock<std::mutex>& native() { return lock_; }

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_BASE_MUTEX_H_
