// SPDX-License-Identifier: Apache-2.0
#include "tests/benchmarks/allocation_counter.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace millhopper {
namespace {

// Initialised before any code runs: the first allocations come before main.
std::atomic<uint64_t> allocations{0};

[[maybe_unused]] void Count() { allocations.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

uint64_t AllocationCount() { return allocations.load(std::memory_order_relaxed); }

}  // namespace millhopper

// Sanitizers bring their own malloc; with them, nothing is counted.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// glibc's own names of its functions. free need not be replaced, since the memory is glibc's.
extern "C" {
void* __libc_malloc(size_t bytes);                      // NOLINT(bugprone-reserved-identifier)
void* __libc_calloc(size_t count, size_t bytes);        // NOLINT(bugprone-reserved-identifier)
void* __libc_realloc(void* memory, size_t bytes);       // NOLINT(bugprone-reserved-identifier)
void* __libc_memalign(size_t alignment, size_t bytes);  // NOLINT(bugprone-reserved-identifier)

void* malloc(size_t bytes) {
  millhopper::Count();
  return __libc_malloc(bytes);
}

void* calloc(size_t count, size_t bytes) {
  millhopper::Count();
  return __libc_calloc(count, bytes);
}

void* realloc(void* memory, size_t bytes) {
  millhopper::Count();
  return __libc_realloc(memory, bytes);
}

void* memalign(size_t alignment, size_t bytes) {
  millhopper::Count();
  return __libc_memalign(alignment, bytes);
}

void* aligned_alloc(size_t alignment, size_t bytes) {
  millhopper::Count();
  return __libc_memalign(alignment, bytes);
}

int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  millhopper::Count();
  *memory = __libc_memalign(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}
}
#endif
