// SPDX-License-Identifier: Apache-2.0
// How tests make threads meet.
#ifndef MILLHOPPER_TESTS_GATE_H_
#define MILLHOPPER_TESTS_GATE_H_

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "framework/base/stop.h"

namespace millhopper {

// Threads wait at a gate until a test opens it.
class Gate {
 public:
  void Open() {
    std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    opened_.notify_all();  // under the lock, since a waiting thread may then destroy the gate
  }
  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    opened_.wait(lock, [this] { return open_; });
  }
  // As threads wait that can be made to leave. Throws as CheckWait.
  void WaitOrLeave() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!open_) {
      CheckWait();
      opened_.wait_for(lock, std::chrono::milliseconds(1));
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

template <typename Condition>
void WaitUntil(const Condition& condition) {
  for (Backoff backoff; !condition();) backoff.Pause();
}

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_GATE_H_
