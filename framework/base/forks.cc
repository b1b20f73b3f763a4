// SPDX-License-Identifier: Apache-2.0
#include "framework/base/forks.h"

#include <pthread.h>

#include "framework/base/error.h"

namespace millhopper {
namespace {

uint64_t CountedForks() {
  // Before the handler of the thread pool, which makes an OwnProcess first.
  static const int registered =
      ::pthread_atfork(nullptr, nullptr, [] { internal::forks.fetch_add(1); });
  Require(registered == 0, "no memory for a handler of forks");
  return internal::forks.load(std::memory_order_relaxed);
}

}  // namespace

OwnProcess::OwnProcess() : forks_(CountedForks()) {}

void OwnProcess::Refuse(const std::string& what) {
  Throw(ErrorCode::kInvalidArgument, what,
        " was created before this process was forked, and its parent uses it; create another one "
        "in the process that is to use it");
}

}  // namespace millhopper
