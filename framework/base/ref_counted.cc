// SPDX-License-Identifier: Apache-2.0
#include "framework/base/ref_counted.h"

#include <utility>

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

class PlaceOfThread {
 public:
  PlaceOfThread() {
    uint32_t taken = taken_.load();
    do {
      place_ = static_cast<size_t>(__builtin_ctz(~taken));  // the first that is free
    } while (place_ < kShared && !taken_.compare_exchange_weak(taken, taken | 1u << place_));
  }
  ~PlaceOfThread() {
    // Code that the thread runs after this destructor gets the shared place.
    const size_t own = std::exchange(place_, kShared);
    if (own < kShared) taken_.fetch_and(~(1u << own));
  }
  size_t place() const { return place_; }

 private:
  static constexpr size_t kShared = kThreadPlaces - 1;
  static inline std::atomic<uint32_t> taken_{0};  // one bit for each place

  size_t place_;
};

}  // namespace

size_t ThreadPlace() {
  static thread_local const PlaceOfThread of_thread;
  return of_thread.place();
}

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
