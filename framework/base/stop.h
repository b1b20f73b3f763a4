// SPDX-License-Identifier: Apache-2.0
// A request to stop all work of the process. A signal, a time limit or another thread makes it;
// threads check it between operators and wherever they wait.
#ifndef MILLHOPPER_FRAMEWORK_BASE_STOP_H_
#define MILLHOPPER_FRAMEWORK_BASE_STOP_H_

#include <atomic>
#include <chrono>

namespace millhopper {

namespace internal {
extern std::atomic<bool> stop_requested;
}  // namespace internal

// Safe to call from a signal handler and from any thread.
void RequestStop();
// Forgets the request, so that work can begin again.
void ClearStop();
inline bool StopRequested() { return internal::stop_requested.load(std::memory_order_relaxed); }
[[noreturn]] void ThrowStopped();
// Throws kCancelled once a stop was requested.
inline void CheckStop() {
  if (__builtin_expect(StopRequested(), 0)) ThrowStopped();
}

// How a thread waits for another thread that is at work: it looks often at first and less and less
// often later (each pause is an eighth of the time waited so far, at most four milliseconds). To
// wake a sleeping thread costs more than to load a small batch.
class Backoff {
 public:
  void Pause();

 private:
  int turns_ = 0;
  std::chrono::steady_clock::time_point since_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_BASE_STOP_H_
