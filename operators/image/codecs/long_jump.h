// SPDX-License-Identifier: Apache-2.0
// Handles errors of C libraries whose error handler must not return.
#ifndef MILLHOPPER_OPERATORS_IMAGE_CODECS_LONG_JUMP_H_
#define MILLHOPPER_OPERATORS_IMAGE_CODECS_LONG_JUMP_H_

#include <csetjmp>

namespace millhopper {

// Calls function(), which calls the library; an error handler may leave it by
// std::longjmp(*landing, 1). Returns false if the handler has left it. The jump calls no
// destructors, so `function` and what it calls must own nothing.
template <typename Function>
bool ComesToItsEnd(std::jmp_buf* landing, const Function& function) {
  if (setjmp(*landing) != 0) return false;
  function();
  return true;
}

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_CODECS_LONG_JUMP_H_
