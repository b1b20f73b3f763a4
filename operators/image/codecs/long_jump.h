// SPDX-License-Identifier: Apache-2.0
// Errors of C libraries that demand that their error handler does not return.
#ifndef MILLHOPPER_OPERATORS_IMAGE_CODECS_LONG_JUMP_H_
#define MILLHOPPER_OPERATORS_IMAGE_CODECS_LONG_JUMP_H_

#include <csetjmp>

namespace millhopper {

// Calls function(), which calls the library; an error handler may leave it by
// std::longjmp(*landing, 1). Returns whether it came to its end. The jump calls no destructor, so
// that `function` and what it calls may own nothing.
template <typename Function>
bool ComesToItsEnd(std::jmp_buf* landing, const Function& function) {
  if (setjmp(*landing) != 0) return false;
  function();
  return true;
}

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_CODECS_LONG_JUMP_H_
