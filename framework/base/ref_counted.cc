// SPDX-License-Identifier: Apache-2.0
#include "framework/base/ref_counted.h"

namespace millhopper {
namespace {

// The ways to drop the idle objects of each pool. Never destroyed: objects may come back at exit.
struct Pools {
  Mutex mutex;
  std::vector<void (*)()> drop_idle GUARDED_BY(mutex);

  static Pools& Get() {
    static auto* pools = new Pools;
    return *pools;
  }
};

}  // namespace

void internal::AddPool(void (*drop_idle)()) {
  Pools& pools = Pools::Get();
  const MutexLock lock(&pools.mutex);
  pools.drop_idle.push_back(drop_idle);
}

void DropIdleObjects() {
  std::vector<void (*)()> all;
  {
    Pools& pools = Pools::Get();
    const MutexLock lock(&pools.mutex);
    all = pools.drop_idle;
  }
  for (void (*drop_idle)() : all) drop_idle();
}

}  // namespace millhopper
