// SPDX-License-Identifier: Apache-2.0
// One limit on the host memory of all pools together, and the accounts of those who use it.
//
// Three quarters of the limit are for memory that is needed now. One quarter is for what workers
// read or load ahead of need, before the consumer asks for it. A request never takes from the other
// share. So a program that fits without workers, where nothing is ahead of need, fits with any
// number of them. The quarter has room for one batch wherever the three quarters have room for the
// three batches that are needed at once: the present one, the one before it, and the elements that
// the present one is made from. Memory that was ahead of need moves to the other share when the
// consumer needs it (UseNow). That never fails; later requests find less room in that share.
#ifndef MILLHOPPER_FRAMEWORK_MEMORY_MEMORY_LIMIT_H_
#define MILLHOPPER_FRAMEWORK_MEMORY_MEMORY_LIMIT_H_

#include <atomic>
#include <cstddef>
#include <string>

#include "framework/base/error.h"
#include "framework/base/lane_context.h"
#include "framework/base/ref_counted.h"

namespace millhopper {

struct MemoryCharge;

// Counts the memory of one reader or program, under the name that error texts give it. Any thread;
// set_name is only for the thread that creates it.
class MemoryAccount final : public RefCounted {
 public:
  MemoryAccount();
  // Call it before any memory is taken for the account.
  void set_name(std::string name) { name_ = std::move(name); }
  const std::string& name() const { return name_; }
  void Add(size_t bytes) { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  void Subtract(size_t bytes) { bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  // The same for memory that was taken ahead of need.
  void AddAhead(size_t bytes) { ahead_.fetch_add(bytes, std::memory_order_relaxed); }
  void SubtractAhead(size_t bytes) { ahead_.fetch_sub(bytes, std::memory_order_relaxed); }
  size_t all_bytes() const { return bytes() + ahead_.load(std::memory_order_relaxed); }

 private:
  ~MemoryAccount() override;

  std::string name_;
  std::atomic<size_t> bytes_{0};
  std::atomic<size_t> ahead_{0};
};

// While a scope lives, memory that its thread takes from a pool is charged to its account. Scopes
// nest: the innermost account is charged. If a scope is ahead of need, all scopes within it are.
class MemoryScope {
 public:
  enum class Need {
    kNow,    // if the share for needed memory is used up, that is an error
    kAhead,  // if the share ahead of need is used up, the work is refused, and is done again later
  };
  // The account, which may be null, must live as long as the scope.
  explicit MemoryScope(const Ref<MemoryAccount>& account, Need need = Need::kNow);
  explicit MemoryScope(Ref<MemoryAccount>&& account, Need need = Need::kNow) = delete;
  // For a thread that helps another thread: `other` is the scope of that thread, or null. Work
  // that a single thread would not do yet is ahead of need.
  explicit MemoryScope(const MemoryScope* other, Need need = Need::kNow);
  ~MemoryScope();
  MemoryScope(const MemoryScope&) = delete;
  MemoryScope& operator=(const MemoryScope&) = delete;

  // The innermost scope of this thread, or null.
  static const MemoryScope* Current() { return ThisLane().memory; }
  // The name of the account that is charged, for error texts; "" if there is none.
  static std::string CurrentName();
  // True if the calling thread works ahead of need, so that it may be refused memory and have to do
  // its work again. Always false without a limit.
  static bool IsAhead();
  // True if the calling thread works ahead of need, with or without a limit: it may also have to
  // stop before its work is done, because a pass is over or its reader is destroyed.
  static bool MayGiveUp();
  // Tells a thread that works ahead of need that there is no memory now: throws an error whose
  // cause has `refused` set, which the lane that it runs looks for (Attempt).
  [[noreturn]] static void ThrowRefused();

 private:
  friend class MemoryLimit;

  const MemoryScope* const previous_;
  MemoryAccount* const account_;  // not a reference: many threads begin scopes of one account
  const bool ahead_;
};

// The limit, as the pools ask it. Any thread.
class MemoryLimit {
 public:
  // SIZE_MAX, the default, is no limit. Throws kInvalidArgument below 1 MiB. Call it only while no
  // reader is at work.
  static void Set(size_t bytes);
  static size_t bytes();
  static bool is_set() { return bytes() != SIZE_MAX; }
  // Whether the share for memory ahead of need has that many bytes left.
  static bool HasRoomAhead(size_t bytes);
  // Whether less than half of the share for needed memory is in use, so that a reader may fill its
  // store.
  static bool HasRoomInStore();

  // Charges memory that is about to be used to the present scope. If that would exceed the share,
  // throws kResourceLimit, which says who uses how much and advises a limit that would suffice.
  static MemoryCharge Use(size_t bytes);
  static void Unuse(size_t bytes, const MemoryCharge& charge);
  // Moves memory that was taken ahead of need to the share for needed memory. Never fails.
  static void UseNow(size_t bytes, MemoryCharge* charge);
  // Counts memory that a pool is about to get from the system. Where the limit leaves no room,
  // frees idle memory of the pools, and waits for memory that is on its way back to a pool.
  static void Reserve(size_t bytes);
  static void Unreserve(size_t bytes);

  // The needed memory that is in use, and the most that any Use under a limit has seen since
  // ResetPeak.
  static size_t needed();
  static size_t peak();
  static void ResetPeak();
  // Whether the share for needed memory can hold `bytes`, with one sixteenth of it kept free
  // because sizes vary. CheckPossible throws as Use does if it cannot.
  static bool IsPossible(size_t bytes);
  static void CheckPossible(size_t bytes);

  // Returns an error of this limit with the advice to raise the limit so that `needed` bytes fit at
  // once, of which one element takes `element`. Returns any other error unchanged. A caller that
  // knows how far the work has come gives better numbers than the code that was refused.
  static Error Advised(const Error& error, size_t needed, size_t element);

 private:
  [[noreturn]] static void Refuse(size_t bytes, size_t needed);
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_MEMORY_MEMORY_LIMIT_H_
