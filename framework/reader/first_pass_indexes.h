// SPDX-License-Identifier: Apache-2.0
// Whether the first pass over a file leaves an index of it, for formats that read with one.
#ifndef MILLHOPPER_FRAMEWORK_READER_FIRST_PASS_INDEXES_H_
#define MILLHOPPER_FRAMEWORK_READER_FIRST_PASS_INDEXES_H_

#include <atomic>

namespace millhopper {

// Any thread.
class FirstPassIndexes {
 public:
  // For files that are opened from now on in this process. By default none are left.
  static void Leave(bool leave) { leave_ = leave; }
  static bool AreLeft() { return leave_; }

 private:
  static inline std::atomic<bool> leave_{false};
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_READER_FIRST_PASS_INDEXES_H_
