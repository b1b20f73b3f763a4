// SPDX-License-Identifier: Apache-2.0
#include "framework/memory/attempt.h"

#include "framework/base/error.h"
#include "framework/base/stop.h"

namespace millhopper {

void Attempt::Note() noexcept {
  thrown_ = std::current_exception();
  outcome_ = CancelScope::WasLeft() ? Outcome::kLeft : Outcome::kFailed;
  if (outcome_ == Outcome::kLeft || !MemoryScope::IsAhead()) return;
  try {
    throw;
  } catch (const Error& error) {
    const OutOfMemory* const cause = error.out_of_memory();
    if (cause != nullptr && cause->refused) outcome_ = Outcome::kRefused;
  } catch (...) {
  }
}

void ThrowNotYet() {
  CheckWait();
  MemoryScope::ThrowRefused();
}

}  // namespace millhopper
