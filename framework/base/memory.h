// SPDX-License-Identifier: Apache-2.0
// Pooled, aligned memory. A buffer comes from the pool of its place and goes back to it, so that a
// training loop in its steady state neither allocates nor touches fresh pages.
#ifndef MILLHOPPER_FRAMEWORK_BASE_MEMORY_H_
#define MILLHOPPER_FRAMEWORK_BASE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "framework/base/kept.h"
#include "framework/base/memory_limit.h"
#include "framework/base/place.h"

namespace millhopper {

class BufferPool;

constexpr size_t kBufferAlignment = 64;

// A piece of memory at a place, aligned to kBufferAlignment unless it is foreign, shared by
// reference count. Once other threads can see it (it is published) it is never written again.
class Buffer final : public Kept {
 public:
  char* data() const { return data_; }
  size_t capacity() const { return capacity_; }
  Place place() const;

  // Memory that a device still copies from or to may not go back to its pool before this event;
  // the pool waits for it. Only the owner of the only reference may set it.
  void set_busy_until(std::shared_ptr<DeviceEvent> event) { busy_until_ = std::move(event); }
  const std::shared_ptr<DeviceEvent>& busy_until() const { return busy_until_; }
  // True if the caller, who holds a reference, may write: nobody else sees the buffer, no device is
  // at work on it, it is on the host, and it is ours.
  bool writable() const {
    return HasOneReference() && (busy_until_ == nullptr || busy_until_->Done()) &&
           place().is_cpu() && release_ == nullptr;
  }

  // What was taken ahead of need (MemoryScope) is needed now. Only the owner of the only reference
  // may say so.
  void set_needed() { MemoryLimit::UseNow(capacity_, &charge_); }

  // Memory of somebody else on the host, of any alignment. `release` is called when nobody sees it
  // any more, on whichever thread that is; it must not throw. Until then its values must stay.
  static Ref<Buffer> Foreign(void* data, size_t bytes, std::function<void()> release);

 private:
  friend class BufferPool;
  Buffer() = default;
  ~Buffer() override = default;
  void Dispose() override;

  char* data_ = nullptr;
  size_t capacity_ = 0;
  BufferPool* pool_ = nullptr;
  MemoryCharge charge_;
  std::shared_ptr<DeviceEvent> busy_until_;
  std::function<void()> release_;  // of foreign memory
};

// Free buffers of one kind of memory by size class. Idle memory is bounded in bytes: what does not
// fit is given back to the system. Thread-safe.
class BufferPool {
 public:
  // Memory at a place.
  static BufferPool& At(Place place);
  // Host memory that `place` copies from without a detour; ordinary memory for the host itself.
  static BufferPool& PinnedFor(Place place);

  // At least `bytes` (0 is fine), contents undefined. Throws kResourceLimit if there is none, or
  // where MemoryLimit says so.
  Ref<Buffer> Take(size_t bytes);

  // Frees idle memory of the host, at least `bytes` if there is as much; returns how much.
  static size_t FreeIdle(size_t bytes);

  // How many idle bytes are kept; the rest is freed. Default 1 GiB.
  void set_idle_limit(size_t bytes);
  size_t idle_bytes() const;
  size_t in_use_bytes() const;
  // Where its memory is: pinned memory is on the host.
  Place place() const { return kind_ == Kind::kPinned ? Place() : place_; }

 private:
  friend class Buffer;
  enum class Kind { kMemory, kPinned };

  BufferPool(Place place, Kind kind) : place_(place), kind_(kind) {}
  void Give(Buffer* buffer);
  // Puts a buffer among the idle ones; false if they are as many as may be.
  bool Keep(Buffer* buffer);
  bool on_host() const { return place_.is_cpu() || kind_ == Kind::kPinned; }
  // An idle buffer, or null.
  Buffer* TakeIdle(size_t capacity);
  Buffer* NewBuffer(size_t capacity);
  void* Allocate(size_t bytes);
  void Free(Buffer* buffer) noexcept;
  // Frees idle buffers, large ones first, until no more than `bytes` are idle; returns how many
  // bytes that were.
  size_t Trim(size_t bytes);

  const Place place_;
  const Kind kind_;
  mutable std::mutex mutex_;
  std::map<size_t, std::vector<Buffer*>> free_;  // by capacity
  size_t idle_bytes_ = 0;
  size_t in_use_bytes_ = 0;
  size_t idle_limit_ = size_t{1} << 30;
};

inline Place Buffer::place() const { return pool_->place(); }

// The capacity that a request for `bytes` gets: few classes, at most a quarter lost.
size_t SizeClass(size_t bytes);

// `left * right`, or kResourceLimit when it overflows.
size_t CheckedProduct(size_t left, size_t right);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_BASE_MEMORY_H_
