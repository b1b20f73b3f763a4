// SPDX-License-Identifier: Apache-2.0
// One limit on the host memory of all pools together, and whose memory it is that they gave out.
//
// Three quarters of the limit are for what is needed now, one quarter is for what is read or loaded
// before anybody asks for it, and neither takes from the other. So what runs with no worker, where
// nothing is ahead of need, runs with any number of them: what they have in store is never in the
// way. A quarter has room for one batch ahead wherever three quarters have room for the three that
// are needed: the present one, the one before it, and what the present one is made from.
#ifndef MILLHOPPER_FRAMEWORK_BASE_MEMORY_LIMIT_H_
#define MILLHOPPER_FRAMEWORK_BASE_MEMORY_LIMIT_H_

#include <atomic>
#include <cstddef>
#include <string>

#include "framework/base/error.h"
#include "framework/base/kept.h"

namespace millhopper {

struct MemoryCharge;

// A holder of memory that is needed now, by the name that error texts give it. Any thread, but for
// set_name.
class MemoryAccount final : public Kept {
 public:
  MemoryAccount();
  // While nothing is taken for it.
  void set_name(std::string name) { name_ = std::move(name); }
  const std::string& name() const { return name_; }
  void Add(size_t bytes) { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  void Subtract(size_t bytes) { bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  // The same of what is ahead of need.
  void AddAhead(size_t bytes) { ahead_.fetch_add(bytes, std::memory_order_relaxed); }
  void SubtractAhead(size_t bytes) { ahead_.fetch_sub(bytes, std::memory_order_relaxed); }
  size_t all_bytes() const { return bytes() + ahead_.load(std::memory_order_relaxed); }

 private:
  ~MemoryAccount() override;

  std::string name_;
  std::atomic<size_t> bytes_{0};
  std::atomic<size_t> ahead_{0};
};

// While one lives, what this thread takes from a pool is for its account. Scopes nest: the
// innermost account counts, and what is ahead of need within one is so in all that it encloses.
class MemoryScope {
 public:
  enum class Need {
    kNow,    // beyond the share of what is needed now is an error
    kAhead,  // beyond the share of what is ahead the work is refused, and can be done again later
  };
  explicit MemoryScope(const Ref<MemoryAccount>& account, Need need = Need::kNow);
  // For a thread that helps another one: `other` is the scope of the helped thread, or null. Work
  // that a single thread would not do yet is ahead of need.
  explicit MemoryScope(const MemoryScope* other, Need need = Need::kNow);
  ~MemoryScope();
  MemoryScope(const MemoryScope&) = delete;
  MemoryScope& operator=(const MemoryScope&) = delete;

  // The innermost scope of this thread, or null.
  static const MemoryScope* Current();
  // Whom memory is taken for, as error texts name it; "" if that is not known.
  static std::string CurrentName();
  // True where memory may be refused although there is some: what is done now may have to be done
  // again. Never so without a limit.
  static bool IsAhead();
  // Says to whoever is ahead of need that there is no memory now, by an error whose cause says that
  // it was refused.
  [[noreturn]] static void ThrowRefused();
  // Whether the exception that is being handled is such an error. In a catch block only. Takes no
  // memory, of which there may be none.
  static bool WasRefused();

 private:
  friend class MemoryLimit;

  const MemoryScope* const previous_;
  const Ref<MemoryAccount> account_;
  const bool ahead_;
};

// What the pools ask. Any thread.
class MemoryLimit {
 public:
  // SIZE_MAX, the default, is no limit. Throws kInvalidArgument below 1 MiB. Call it only while no
  // reader is at work.
  static void Set(size_t bytes);
  static size_t bytes();
  static bool is_set() { return bytes() != SIZE_MAX; }
  // Whether the share of what is ahead of need has so many bytes left.
  static bool HasRoomAhead(size_t bytes);
  // Whether more than half is left of what may be needed now, so that somebody may fill a store.
  static bool HasRoomInStore();

  // Counts memory that is about to be in use for the present scope. Throws kResourceLimit, naming
  // who uses how much and a limit that would do, if that would be too much.
  static MemoryCharge Use(size_t bytes);
  static void Unuse(size_t bytes, const MemoryCharge& charge);
  // From now on, what was ahead of need is needed.
  static void UseNow(size_t bytes, MemoryCharge* charge);
  // Counts memory that the system is asked for; frees what lies idle where the limit is in the way.
  static void Hold(size_t bytes);
  static void Unhold(size_t bytes);

  // How much is in use that is needed now, and the most since ResetPeak.
  static size_t needed();
  static size_t peak();
  static void ResetPeak();
  // Whether so many bytes can be needed again and again, a little more at times; throws as Use does
  // if not.
  static bool IsPossible(size_t bytes);
  static void CheckPossible(size_t bytes);

  // The error, if it is one of this limit, with the advice of a limit that has room for `needed`
  // bytes at once, of which one element takes `element`. Whoever knows how far the work has come
  // knows this better than whoever was refused.
  static Error Advised(const Error& error, size_t needed, size_t element);

 private:
  [[noreturn]] static void Refuse(size_t bytes, size_t needed);
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_BASE_MEMORY_LIMIT_H_
