// SPDX-License-Identifier: Apache-2.0
// What has been read of a file, as stretches without gaps. A gap of a block is none.
#ifndef MILLHOPPER_FRAMEWORK_IO_STRETCHES_H_
#define MILLHOPPER_FRAMEWORK_IO_STRETCHES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>

#include "framework/base/limits.h"

namespace millhopper {

// One thread at a time.
class Stretches {
 public:
  struct Stretch {
    uint64_t begin, end;
  };
  // Notes a read, and returns the stretch that it belongs to now.
  Stretch Add(uint64_t begin, uint64_t end) {
    auto after = stretches_.upper_bound(begin);
    if (after != stretches_.begin() && std::prev(after)->second + kReadBlockBytes >= begin) {
      --after;
      begin = after->first;
    }
    while (after != stretches_.end() && after->first <= end + kReadBlockBytes) {
      end = std::max(end, after->second);
      after = stretches_.erase(after);
    }
    if (stretches_.size() >= kMost) {
      stretches_.erase(std::min_element(
          stretches_.begin(), stretches_.end(), [](const auto& left, const auto& right) {
            return left.second - left.first < right.second - right.first;
          }));
    }
    stretches_[begin] = end;
    return {begin, end};
  }

 private:
  static constexpr size_t kMost = 64;

  std::map<uint64_t, uint64_t> stretches_;  // their ends by their beginnings
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_STRETCHES_H_
