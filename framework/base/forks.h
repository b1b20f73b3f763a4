// SPDX-License-Identifier: Apache-2.0
// What a child process may do with what its parent has made.
#ifndef MILLHOPPER_FRAMEWORK_BASE_FORKS_H_
#define MILLHOPPER_FRAMEWORK_BASE_FORKS_H_

#include <atomic>
#include <cstdint>
#include <string>

namespace millhopper {

namespace internal {

// How many forks, since the first OwnProcess was made, led to this process.
inline std::atomic<uint64_t> forks{0};

}  // namespace internal

// The process that made the object which holds this one. A fork copies memory, but not the parent's
// threads, nor what the parent does with files and queues afterwards. So a child process that was
// forked later may destroy its copy of the object and do nothing else with it. Any thread may call
// this.
class OwnProcess {
 public:
  OwnProcess();
  // Whether the caller is in that process.
  bool IsThis() const { return forks_ == internal::forks.load(std::memory_order_relaxed); }
  // Throws kInvalidArgument: `what`, which names the object, cannot be used in this process.
  [[noreturn]] static void Refuse(const std::string& what);

 private:
  const uint64_t forks_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_BASE_FORKS_H_
