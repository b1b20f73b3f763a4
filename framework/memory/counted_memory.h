// SPDX-License-Identifier: Apache-2.0
// Counts memory that comes from no pool, such as lists of names, towards the memory limit.
#ifndef MILLHOPPER_FRAMEWORK_MEMORY_COUNTED_MEMORY_H_
#define MILLHOPPER_FRAMEWORK_MEMORY_COUNTED_MEMORY_H_

#include <cstddef>

#include "framework/memory/buffer.h"
#include "framework/memory/memory_limit.h"

namespace millhopper {

// While it lives, `bytes` count for the present MemoryScope as needed now. Throws as
// MemoryLimit::Use.
class CountedMemory {
 public:
  explicit CountedMemory(size_t bytes) : bytes_(bytes), charge_(MemoryLimit::Use(bytes)) {
    MemoryLimit::UseNow(bytes_, &charge_);
  }
  ~CountedMemory() { MemoryLimit::Unuse(bytes_, charge_); }
  CountedMemory(const CountedMemory&) = delete;
  CountedMemory& operator=(const CountedMemory&) = delete;

 private:
  const size_t bytes_;
  MemoryCharge charge_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_MEMORY_COUNTED_MEMORY_H_
