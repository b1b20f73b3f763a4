// SPDX-License-Identifier: Apache-2.0
// Work that may be refused memory, or be left for another thread, and what became of it.
#ifndef MILLHOPPER_FRAMEWORK_MEMORY_ATTEMPT_H_
#define MILLHOPPER_FRAMEWORK_MEMORY_ATTEMPT_H_

#include <exception>

#include "framework/memory/memory_limit.h"

namespace millhopper {

// Does work, and tells how it ended. An allocator and a wait say by an exception that a thread has
// to give up, since all code between them and the lane is left; here, where a lane is run, that
// becomes a value, and no other code has to ask what an exception means.
class [[nodiscard]] Attempt {
 public:
  enum class Outcome {
    kDone,
    kRefused,  // there was no memory for what is not needed yet (MemoryScope)
    kLeft,     // the thread has left its work or its wait (CancelScope)
    kFailed,   // it cannot be done: error()
  };

  // Calls work(). The scopes that it may be refused by, or left for, are around this object.
  template <typename Work>
  explicit Attempt(const Work& work) {
    try {
      work();
    } catch (...) {
      Note();
    }
  }
  // Of no work, which is done.
  Attempt() = default;

  Outcome outcome() const { return outcome_; }
  bool is_done() const { return outcome_ == Outcome::kDone; }
  // Whether it was refused memory, or left: that says nothing about the data, and the work can be
  // done again.
  bool may_be_repeated() const {
    return outcome_ == Outcome::kRefused || outcome_ == Outcome::kLeft;
  }
  // What is wrong; null if it is done or may be repeated.
  std::exception_ptr error() const { return may_be_repeated() ? nullptr : thrown_; }
  // Has the caller's caller repeat it, if it may be repeated.
  void ThrowIfMayBeRepeated() const {
    if (may_be_repeated()) std::rethrow_exception(thrown_);
  }
  // Throws whatever has ended the work.
  void ThrowUnlessDone() const {
    if (thrown_ != nullptr) std::rethrow_exception(thrown_);
  }

 private:
  // Takes no memory, because there may be none.
  void Note() noexcept;

  Outcome outcome_ = Outcome::kDone;
  std::exception_ptr thrown_;
};

// Does work that takes memory beyond what the caller needs, such as that of several threads at
// once: all of it is ahead of need. False if it was refused memory: then the caller does without.
// Throws everything else.
template <typename Work>
[[nodiscard]] bool TryAhead(const Work& work) {
  const MemoryScope scope(MemoryScope::Current(), MemoryScope::Need::kAhead);
  const Attempt attempt(work);
  if (attempt.outcome() == Attempt::Outcome::kRefused) return false;
  attempt.ThrowUnlessDone();
  return true;
}

// For a function that throws where one that it calls has returned that there is nothing yet: throws
// what CheckWait does, or a refusal of memory.
[[noreturn]] void ThrowNotYet();

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_MEMORY_ATTEMPT_H_
