// SPDX-License-Identifier: Apache-2.0
// One limit on the host memory of all pools together, and whose memory it is that they gave out.
//
// What is read or loaded before it is asked for may take half of the limit: so what is needed now
// always finds the other half, and a program that fits into half of its limit runs whatever is
// read ahead.
#ifndef MILLRACE_FRAMEWORK_MEMORY_LIMIT_H_
#define MILLRACE_FRAMEWORK_MEMORY_LIMIT_H_

#include <atomic>
#include <cstddef>
#include <string>

#include "framework/kept.h"

namespace millrace {

// A holder of memory, by the name that error texts give it. Any thread, but for set_name.
class MemoryAccount final : public Kept {
 public:
  MemoryAccount();
  // While nothing is taken for it.
  void set_name(std::string name) { name_ = std::move(name); }
  const std::string& name() const { return name_; }
  void Add(size_t bytes) { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  void Subtract(size_t bytes) { bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  ~MemoryAccount() override;

  std::string name_;
  std::atomic<size_t> bytes_{0};
};

// While one lives, what this thread takes from a pool is for its account. Scopes nest: the
// innermost account counts, and what is ahead of need within one is so in all that it encloses.
class MemoryScope {
 public:
  enum class Need {
    kNow,    // up to the limit; beyond it is an error
    kAhead,  // up to half of it; beyond that the work is refused and can be done again later
  };
  explicit MemoryScope(const Ref<MemoryAccount>& account, Need need = Need::kNow);
  // Takes part in the work of another thread, whose scope (or null) it is.
  explicit MemoryScope(MemoryScope* other);
  ~MemoryScope();
  MemoryScope(const MemoryScope&) = delete;
  MemoryScope& operator=(const MemoryScope&) = delete;

  // The innermost scope of this thread, or null.
  static MemoryScope* Current();
  // True where memory may be refused although the limit is not reached: what is loaded now may have
  // to be loaded again.
  static bool IsAhead();
  // Says to whoever is ahead of need that there is no memory now.
  [[noreturn]] static void ThrowRefused();
  // Whether memory was refused because it was not needed yet. The error that said so is not one of
  // the data.
  bool refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  friend class MemoryLimit;

  MemoryScope* const outer_;  // of the same thread, or of the one whose work it shares
  MemoryScope* const previous_;
  const Ref<MemoryAccount> account_;
  const bool ahead_;
  std::atomic<bool> refused_{false};
};

// What the pools ask. Any thread.
class MemoryLimit {
 public:
  // SIZE_MAX, which is the default, is none. Throws kInvalidArgument below 1 MiB. While no reader
  // is at work.
  static void Set(size_t bytes);
  static size_t bytes();
  // False when half of the limit is in use, so that reading ahead had better wait.
  static bool HasRoomAhead();

  // Counts memory that is about to be in use for the present scope, and returns its account or
  // null. Throws kResourceLimit, naming who uses how much, if that would be too much.
  static Ref<MemoryAccount> Use(size_t bytes);
  static void Unuse(size_t bytes, MemoryAccount* account);
  // Counts memory that the system is asked for; frees what lies idle where the limit is in the way.
  static void Hold(size_t bytes);
  static void Unhold(size_t bytes);

 private:
  [[noreturn]] static void Refuse(size_t bytes);
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_MEMORY_LIMIT_H_
