// SPDX-License-Identifier: Apache-2.0
// Pools of aligned memory. A buffer comes from the pool of its place and goes back to it, so that a
// training loop in its steady state neither allocates nor touches fresh pages.
#ifndef MILLHOPPER_FRAMEWORK_MEMORY_MEMORY_H_
#define MILLHOPPER_FRAMEWORK_MEMORY_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "framework/base/mutex.h"
#include "framework/memory/buffer.h"
#include "framework/memory/memory_limit.h"
#include "framework/memory/place.h"

namespace millhopper {

// Free buffers of one kind of memory by size class. Idle memory is bounded in bytes: what does not
// fit is given back to the system. Thread-safe.
//
// Device memory may come back while queued work still reads it: a framework queues the steps of a
// training loop and releases their batches long before the device runs them. The pool gives out
// such memory only after the device has done all work that it had been given by then, and host
// memory only after the device has copied it. Returning memory never waits for that.
class BufferPool {
 public:
  // Memory at a place.
  static BufferPool& At(Place place);
  // Host memory that `place` copies from without a detour; ordinary memory for the host itself.
  static BufferPool& PinnedFor(Place place);

  // A buffer of at least `bytes` (0 is fine) with undefined contents. Throws kResourceLimit if the
  // system or MemoryLimit gives no memory, and as CheckWait (stop.h) while it waits for a device.
  Ref<Buffer> Take(size_t bytes);

  // Frees idle memory of the host, at least `bytes` if there is that much; returns how much.
  static size_t FreeIdle(size_t bytes);

  // How many idle bytes are kept. Frees the rest, and waits for devices that still use it. Default
  // 1 GiB.
  void set_idle_limit(size_t bytes);
  size_t idle_bytes() const EXCLUDES(mutex_);
  size_t in_use_bytes() const EXCLUDES(mutex_);
  // Where its memory is: pinned memory is on the host.
  Place place() const { return kind_ == Kind::kPinned ? Place() : place_; }

 private:
  friend class Buffer;
  enum class Kind { kMemory, kPinned };

  BufferPool(Place place, Kind kind) : place_(place), kind_(kind) {}
  void Give(Buffer* buffer) EXCLUDES(mutex_);
  static bool IsBusy(const Buffer& buffer);
  // The event of an idle buffer that a device still uses; null if there is none.
  std::shared_ptr<DeviceEvent> FirstBusy() const EXCLUDES(mutex_);
  // Waits for the end of work and ignores its error, which others report.
  static void WaitUntilDone(DeviceEvent* event);
  // Notes that the device may still use a buffer without references; false if it cannot tell.
  bool SetBusy(Buffer* buffer) noexcept;
  // Puts a buffer among the idle ones; false if there is no room for more of them.
  bool Keep(Buffer* buffer) EXCLUDES(mutex_);
  bool on_host() const { return place_.is_cpu() || kind_ == Kind::kPinned; }
  // An idle buffer, or null. Waits for the device if too many are idle but busy there.
  Buffer* TakeIdle(size_t capacity) EXCLUDES(mutex_);
  Buffer* NewBuffer(size_t capacity) EXCLUDES(mutex_);
  void* Allocate(size_t bytes);
  // Does not touch memory that a device is busy with: then there is no memory even to note that.
  void Free(Buffer* buffer) noexcept;
  // Frees idle buffers that no device is busy with, large ones first, until no more than `bytes`
  // are idle; returns how many bytes it has freed.
  size_t Trim(size_t bytes) EXCLUDES(mutex_);

  const Place place_;
  const Kind kind_;
  mutable Mutex mutex_;
  // By capacity, in the order in which they came.
  std::map<size_t, std::vector<Buffer*>> free_ GUARDED_BY(mutex_);
  size_t idle_bytes_ GUARDED_BY(mutex_) = 0;
  size_t in_use_bytes_ GUARDED_BY(mutex_) = 0;
  size_t idle_limit_ GUARDED_BY(mutex_) = size_t{1} << 30;
};

// Keeps a buffer until the device has done what it does with it, without waiting for that. Any
// thread.
void KeepUntilDone(Ref<Buffer> buffer, std::shared_ptr<DeviceEvent> event);

// The capacity that a request for `bytes` gets: few classes, at most a quarter lost.
size_t SizeClass(size_t bytes);

// `left * right`, or kResourceLimit when it overflows.
size_t CheckedProduct(size_t left, size_t right);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_MEMORY_MEMORY_H_
