// SPDX-License-Identifier: Apache-2.0
// Memory that no pool has given, such as that of lists of names, and that counts towards the limit
// all the same.
#ifndef MILLHOPPER_FRAMEWORK_BASE_COUNTED_MEMORY_H_
#define MILLHOPPER_FRAMEWORK_BASE_COUNTED_MEMORY_H_

#include <cstddef>

#include "framework/base/buffer.h"
#include "framework/base/memory_limit.h"

namespace millhopper {

// Counts so many bytes for the present scope (MemoryScope) while it lives, as needed now, whoever
// takes them. Throws as MemoryLimit::Use.
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

#endif  // MILLHOPPER_FRAMEWORK_BASE_COUNTED_MEMORY_H_
