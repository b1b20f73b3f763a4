// SPDX-License-Identifier: Apache-2.0
// A mutex of the whole process that a forked child finds unlocked.
#ifndef MILLHOPPER_FRAMEWORK_IO_FORK_MUTEX_H_
#define MILLHOPPER_FRAMEWORK_IO_FORK_MUTEX_H_

#include <pthread.h>

#include <mutex>

namespace millhopper {

// The mutex of what `Owner` names. A thread that forks waits for it, so hold it only for a moment
// and take no other lock meanwhile.
template <typename Owner>
std::mutex& ForkMutex() {
  static std::mutex mutex;
  [[maybe_unused]] static const int registered =
      pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, [] { mutex.unlock(); });
  return mutex;
}

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_FORK_MUTEX_H_
