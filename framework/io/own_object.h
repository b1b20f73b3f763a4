// SPDX-License-Identifier: Apache-2.0
// Objects that are not shared with a forked child: each process has its own.
#ifndef MILLHOPPER_FRAMEWORK_IO_OWN_OBJECT_H_
#define MILLHOPPER_FRAMEWORK_IO_OWN_OBJECT_H_

#include <atomic>

#include "framework/base/forks.h"

namespace millhopper {

// The T of the calling process. The first call makes it, and nothing destroys it: threads may use
// it until the very end. A forked child makes its own, because a lock in the parent's object may be
// held by a thread that does not exist in the child. So a fork need not take these locks, which
// threads that the fork waits for, such as the pool's workers, may need meanwhile. Any thread.
template <typename T>
T& OwnObject() {
  struct Owned {
    const OwnProcess process;
    T object;
  };
  static std::atomic<Owned*> current{nullptr};
  Owned* owned = current.load();
  while (owned == nullptr || !owned->process.IsThis()) {
    auto* const fresh = new Owned;
    if (current.compare_exchange_strong(owned, fresh)) return fresh->object;
    delete fresh;
  }
  return owned->object;
}

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_OWN_OBJECT_H_
