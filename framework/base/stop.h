// SPDX-License-Identifier: Apache-2.0
// When a thread has to leave its work. Either the whole process is asked to stop (by a signal, a
// time limit, another thread), or the result of this thread's work is no longer needed, because its
// reader is reset or destroyed. Threads check for both between operators, in loops that may be long
// (CheckStop) and wherever they wait (CheckWait), there at least every ten milliseconds, so that a
// stop takes effect soon.
#ifndef MILLHOPPER_FRAMEWORK_BASE_STOP_H_
#define MILLHOPPER_FRAMEWORK_BASE_STOP_H_

#include <atomic>
#include <chrono>

#include "framework/base/lane_context.h"
#include "framework/base/mutex.h"

namespace millhopper {

// Work of a thread whose result may cease to be needed. Scopes nest: the work of a thread is over
// as soon as one of the scopes around it is. A scope that was once found to be over stays so,
// because a thread that has left its work must not take that for an error later. A thread that
// takes over a part of another thread's work shares that thread's scopes (ShareLane).
class CancelScope {
 public:
  enum class Of {
    kWork,   // the thread leaves loops and waits: its result will not be used
    kWaits,  // the thread leaves waits only: it helps others while it waits for something itself.
             // What it has begun to compute will be used, so that it is not left half done.
  };
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

  // Whether the work of the calling thread is over; and whether its work or its waits are. A
  // kCancelled that is thrown while that is so says nothing about the data: the work that was left
  // can be continued.
  static bool IsWorkOver() { return ThisLane().work != nullptr && AnyIsOver(ThisLane().work); }
  static bool IsWaitOver() {
    return IsWorkOver() || (ThisLane().waits != nullptr && AnyIsOver(ThisLane().waits));
  }
  // Whether the calling thread may have to leave its present work and repeat it later.
  static bool MayLeave() { return ThisLane().work != nullptr || ThisLane().waits != nullptr; }
  // Whether the exception that is being handled is kCancelled because IsWaitOver. Call it in a
  // catch block only. It takes no memory, because there may be none.
  static bool WasLeft();

 protected:
  explicit CancelScope(Of of);
  ~CancelScope();

 private:
  // All threads that share in the work may ask at once.
  virtual bool IsOver() const = 0;
  static bool AnyIsOver(CancelScope* scope);

  CancelScope** const innermost_;  // of the thread that made it, and of its kind
  CancelScope* const around_;
  std::atomic<bool> over_{false};
};

// While it lives, the calling thread helps others while it waits for a result; it leaves its waits
// as soon as `is_there()` says that the result has come.
template <typename Function>
class HelpScope final : public CancelScope {
 public:
  explicit HelpScope(const Function& is_there) : CancelScope(Of::kWaits), is_there_(is_there) {}

 private:
  bool IsOver() const override { return is_there_(); }

  const Function& is_there_;
};

// While it lives, the calling thread runs something that must not be left and repeated, such as a
// function of Python: HelpScope and other scopes of kWaits have no effect.
class RunsToItsEnd : public LaneScope<&LaneContext::waits> {
 public:
  RunsToItsEnd() : LaneScope(nullptr) {}
};

namespace internal {
extern std::atomic<bool> stop_requested;
}  // namespace internal

// Asks the process to stop. Safe to call from a signal handler and from any thread.
void RequestStop();
// Forgets the request, so that work can begin again.
void ClearStop();
inline bool StopRequested() { return internal::stop_requested.load(std::memory_order_relaxed); }
[[noreturn]] void ThrowStopped();
// Throws kCancelled once a stop was requested, or if the calling thread's work is over.
inline void CheckStop() {
  if (__builtin_expect(StopRequested() || CancelScope::IsWorkOver(), 0)) ThrowStopped();
}
// The same for a thread that waits: also if its waits are over.
inline void CheckWait() {
  if (__builtin_expect(StopRequested() || CancelScope::IsWaitOver(), 0)) ThrowStopped();
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

// Holds, while it lives, a mutex that another thread may hold while it waits for something outside
// of the process. The constructor throws as CheckWait.
class SCOPED_CAPABILITY LockOrStop {
 public:
  explicit LockOrStop(Mutex* mutex) ACQUIRE(mutex);
  ~LockOrStop() RELEASE() { mutex_->Unlock(); }
  LockOrStop(const LockOrStop&) = delete;
  LockOrStop& operator=(const LockOrStop&) = delete;

 private:
  Mutex* const mutex_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_BASE_STOP_H_
