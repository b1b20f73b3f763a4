// SPDX-License-Identifier: Apache-2.0
// Where threads sleep until others have changed what they wait for. Nobody spins or looks again and
// again: a thread that changes something wakes those who sleep, which costs it one atomic operation
// if there are none.
#ifndef MILLHOPPER_FRAMEWORK_BASE_SLEEPERS_H_
#define MILLHOPPER_FRAMEWORK_BASE_SLEEPERS_H_

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>

namespace millhopper {

// Any thread. A forked child can destroy it, whoever sleeps in the parent.
class Sleepers {
 public:
  // How long a thread sleeps without a look at requests to stop (stop.h).
  static constexpr std::chrono::milliseconds kLook{4};

  // Calls try_it(). If that is false, sleeps until the next Wake, at most for `most`. A Wake after
  // the call has begun is not missed. Returns what try_it() has returned, so that the caller, which
  // asks CheckWait in its loop, tries again.
  template <typename Function>
  bool TryOrSleep(const Function& try_it, std::chrono::nanoseconds most = kLook) {
    const Sleeper sleeper(&sleeping_);
    const uint32_t wakes = wakes_.load();
    if (try_it()) return true;
    Sleep(wakes, most);
    return false;
  }

  // Call it after every change for which a thread may wait.
  void Wake() {
    // Not a load: that could come before the change, and miss a thread that looks just then.
    if (sleeping_.fetch_add(0) > 0) WakeAll();
  }

 private:
  class Sleeper {
   public:
    explicit Sleeper(std::atomic<uint32_t>* sleeping) : sleeping_(sleeping) { ++*sleeping_; }
    ~Sleeper() { --*sleeping_; }
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;

   private:
    std::atomic<uint32_t>* const sleeping_;
  };

  // Sleeps unless there was a Wake since wakes_ had this value.
  void Sleep(uint32_t wakes, std::chrono::nanoseconds most) {
    constexpr int64_t kSecond = 1000000000;
    const timespec time = {most.count() / kSecond, most.count() % kSecond};
    ::syscall(SYS_futex, &wakes_, FUTEX_WAIT_PRIVATE, wakes, &time, nullptr, 0);
  }
  void WakeAll() {
    ++wakes_;
    ::syscall(SYS_futex, &wakes_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  }

  std::atomic<uint32_t> sleeping_{0};  // threads that sleep or are about to
  std::atomic<uint32_t> wakes_{0};     // those that had to wake somebody; the futex
  static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t), "a futex has 32 bits");
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_BASE_SLEEPERS_H_
