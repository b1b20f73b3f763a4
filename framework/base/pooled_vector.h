// SPDX-License-Identifier: Apache-2.0
// Vectors that the memory limit counts: tables that grow with the data, such as the tickets of a
// batch or the records of a chunk. Large ones lie in memory of the host's pool.
#ifndef MILLHOPPER_FRAMEWORK_BASE_POOLED_VECTOR_H_
#define MILLHOPPER_FRAMEWORK_BASE_POOLED_VECTOR_H_

#include <cstddef>
#include <vector>

#include "framework/base/memory.h"

namespace millhopper {

// Memory of at least so many bytes for a table; throws as BufferPool::Take. Any thread.
void* TakeTable(size_t bytes);
void GiveTable(void* table) noexcept;
// What was taken ahead of need is needed now. Whoever owns the table.
void SetTableNeeded(void* table);

// For std::vector.
template <typename T>
class PoolAllocator {
 public:
  using value_type = T;

  PoolAllocator() = default;
  template <typename U>
  PoolAllocator(const PoolAllocator<U>&) {}  // NOLINT(google-explicit-constructor): as demanded

  T* allocate(size_t n) {
    constexpr size_t kBytes = sizeof(T);  // NOLINT(bugprone-sizeof-expression): also of pointers
    return static_cast<T*>(TakeTable(CheckedProduct(n, kBytes)));
  }
  void deallocate(T* table, size_t) noexcept { GiveTable(table); }
  bool operator==(const PoolAllocator&) const { return true; }
  bool operator!=(const PoolAllocator&) const { return false; }
};

template <typename T>
using PooledVector = std::vector<T, PoolAllocator<T>>;

// Empties a vector that will be filled again. Its memory is kept for that, but not under a limit,
// where others may need it and whom it is for may change.
template <typename T>
void Empty(PooledVector<T>* vector) {
  if (MemoryLimit::is_set()) {
    PooledVector<T>().swap(*vector);
  } else {
    vector->clear();
  }
}

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_BASE_POOLED_VECTOR_H_
