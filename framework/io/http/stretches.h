// SPDX-License-Identifier: Apache-2.0
// The parts of a file that have been read, as stretches. Parts that lie at most a block
// (kReadBlockBytes) apart are one stretch.
#ifndef MILLHOPPER_FRAMEWORK_IO_HTTP_STRETCHES_H_
#define MILLHOPPER_FRAMEWORK_IO_HTTP_STRETCHES_H_

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
  // Adds a part that was read, and returns the stretch that contains it now.
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

#endif  // MILLHOPPER_FRAMEWORK_IO_HTTP_STRETCHES_H_
