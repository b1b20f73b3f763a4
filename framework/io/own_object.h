// SPDX-License-Identifier: Apache-2.0
// An object of which each process has one of its own.
#ifndef MILLHOPPER_FRAMEWORK_IO_OWN_OBJECT_H_
#define MILLHOPPER_FRAMEWORK_IO_OWN_OBJECT_H_

#include <atomic>

#include "framework/base/forks.h"

namespace millhopper {

// The T of the calling process. The first call makes it, and nothing destroys it: threads may use
// it until the very end. A forked child makes its own, because a lock of its parent's may be held
// by a thread that is not there. So no lock is taken before a fork: what a fork waits for, such as
// the workers of the pool, may need it meanwhile. Any thread.
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
