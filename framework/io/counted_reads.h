// SPDX-License-Identifier: Apache-2.0
// Counts the bytes that files give.
#ifndef MILLHOPPER_FRAMEWORK_IO_COUNTED_READS_H_
#define MILLHOPPER_FRAMEWORK_IO_COUNTED_READS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "framework/base/lane_context.h"

namespace millhopper {

// As long as this object lives, all bytes that the calling thread reads from files are added to a
// sum. Null counts nothing. Scopes nest: only the innermost sum counts.
class CountedReads : public LaneScope<&LaneContext::bytes_read> {
 public:
  using LaneScope::LaneScope;

  // A file calls it for the bytes that it has read on this thread.
  static void Add(size_t bytes) {
    std::atomic<uint64_t>* const sum = ThisLane().bytes_read;
    if (sum != nullptr) sum->fetch_add(bytes, std::memory_order_relaxed);
  }
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_COUNTED_READS_H_
