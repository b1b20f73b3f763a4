// SPDX-License-Identifier: Apache-2.0
// Counts the bytes that files give.
#ifndef MILLHOPPER_FRAMEWORK_IO_COUNTED_READS_H_
#define MILLHOPPER_FRAMEWORK_IO_COUNTED_READS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace millhopper {

// As long as this object lives, all bytes that the calling thread reads from files are added to a
// sum. Null counts nothing. Scopes nest: only the innermost sum counts.
class CountedReads {
 public:
  explicit CountedReads(std::atomic<uint64_t>* bytes) : before_(sum_) { sum_ = bytes; }
  ~CountedReads() { sum_ = before_; }
  CountedReads(const CountedReads&) = delete;
  CountedReads& operator=(const CountedReads&) = delete;

  // The sum of the calling thread, for threads that read for it; null if nothing is counted.
  static std::atomic<uint64_t>* Sum() { return sum_; }
  // A file calls it for the bytes that it has read on this thread.
  static void Add(size_t bytes) {
    if (sum_ != nullptr) sum_->fetch_add(bytes, std::memory_order_relaxed);
  }

 private:
  static thread_local std::atomic<uint64_t>* sum_;
  std::atomic<uint64_t>* const before_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_COUNTED_READS_H_
