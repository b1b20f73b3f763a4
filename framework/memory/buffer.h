// SPDX-License-Identifier: Apache-2.0
// Memory of the pools as its users see it: buffers of values, and vectors whose tables grow with
// the data, such as the tickets of a batch. The memory limit counts both. memory.h has the pools.
#ifndef MILLHOPPER_FRAMEWORK_MEMORY_BUFFER_H_
#define MILLHOPPER_FRAMEWORK_MEMORY_BUFFER_H_

#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <vector>

#include "framework/base/ref_counted.h"

namespace millhopper {

class BufferPool;
class DeviceEvent;
class MemoryAccount;
class Place;

constexpr size_t kBufferAlignment = 64;

// The account that a piece of memory is charged to.
struct MemoryCharge {
  Ref<MemoryAccount> account;  // or null
  bool ahead = false;          // in the share of what is ahead of need
};

// A piece of memory at a place, aligned to kBufferAlignment unless it is foreign, shared by
// reference count. Once other threads can see it (it is published) it is never written again.
class Buffer final : public RefCounted {
 public:
  char* data() const { return data_; }
  size_t capacity() const { return capacity_; }
  Place place() const;
  bool on_host() const { return on_host_; }

  // Sets the event that ends the copy of a device from or to this memory. The pool does not use the
  // memory again before that. Only the holder of the only reference may call this.
  void set_busy_until(std::shared_ptr<DeviceEvent> event) { busy_until_ = std::move(event); }
  const std::shared_ptr<DeviceEvent>& busy_until() const { return busy_until_; }
  // Whether the caller may write: it holds the only reference, no device is copying, and the memory
  // is on the host and from a pool.
  bool writable() const {
    return HasOneReference() && (busy_until_ == nullptr || IsDone()) && on_host_ &&
           release_ == nullptr;
  }

  // Marks memory that was taken ahead of need (MemoryScope) as needed now. Only the holder of the
  // only reference may call this.
  void set_needed();

  // Wraps host memory that does not come from a pool, of any alignment. `release` is called when
  // the last reference goes away, on whichever thread that is, and must not throw or be empty. The
  // values must stay the same until then.
  static Ref<Buffer> Foreign(void* data, size_t bytes, std::function<void()> release);

 private:
  friend class BufferPool;
  Buffer();
  ~Buffer() override;
  void Dispose() override;
  bool IsDone() const;  // what it is busy with

  char* data_ = nullptr;
  size_t capacity_ = 0;
  BufferPool* pool_ = nullptr;
  bool on_host_ = true;
  MemoryCharge charge_;
  std::shared_ptr<DeviceEvent> busy_until_;
  std::function<void()> release_;  // of foreign memory
};

// Memory for a table of at least `count` items of `size` bytes; large ones lie in a buffer of the
// host's pool. Throws as BufferPool::Take. Any thread.
void* TakeTable(size_t count, size_t size);
void GiveTable(void* table) noexcept;
// Marks a table that was taken ahead of need as needed now. Only the owner of the table may call
// it.
void SetTableNeeded(void* table);
// Whether the owner may keep an empty table for later use. Not under a limit: another reader may
// need the memory, and the table is charged to an account that may not be the next user's.
bool MayKeepEmptyTable();

// The allocator of PooledVector.
template <typename T>
class PoolAllocator {
 public:
  using value_type = T;

  PoolAllocator() = default;
  template <typename U>
  PoolAllocator(const PoolAllocator<U>&) {}  // NOLINT(google-explicit-constructor): as demanded

  T* allocate(size_t n) {
    constexpr size_t kBytes = sizeof(T);  // NOLINT(bugprone-sizeof-expression): also of pointers
    return static_cast<T*>(TakeTable(n, kBytes));
  }
  void deallocate(T* table, size_t) noexcept { GiveTable(table); }
  bool operator==(const PoolAllocator&) const { return true; }
  bool operator!=(const PoolAllocator&) const { return false; }
};

template <typename T>
using PooledVector = std::vector<T, PoolAllocator<T>>;

// Where std::vector::insert takes what `make` makes of the numbers from `i` on.
template <typename T, typename Make>
struct MadeByNumber {
  using iterator_category = std::forward_iterator_tag;
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using pointer = const T*;
  using reference = T;

  T operator*() const { return (*make)(i); }
  MadeByNumber& operator++() {
    ++i;
    return *this;
  }
  bool operator==(const MadeByNumber& other) const { return i == other.i; }
  bool operator!=(const MadeByNumber& other) const { return i != other.i; }

  const Make* make;
  size_t i;
};

// Appends make(0), make(1), ... make(n - 1). Each is written once, into its place, while resize
// writes zeros there first, and push_back looks for room each time.
template <typename T, typename Make>
void AppendEach(size_t n, const Make& make, PooledVector<T>* vector) {
  using Made = MadeByNumber<T, Make>;
  vector->insert(vector->end(), Made{&make, 0}, Made{&make, n});
}

// Empties a vector that will be filled again; keeps its memory if MayKeepEmptyTable allows it.
template <typename T>
void Empty(PooledVector<T>* vector) {
  if (MayKeepEmptyTable()) {
    vector->clear();
  } else {
    PooledVector<T>().swap(*vector);
  }
}

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_MEMORY_BUFFER_H_
