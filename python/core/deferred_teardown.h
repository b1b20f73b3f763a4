// SPDX-License-Identifier: Apache-2.0
// Where readers are taken apart: outside of what they call.
#ifndef MILLHOPPER_PYTHON_CORE_DEFERRED_TEARDOWN_H_
#define MILLHOPPER_PYTHON_CORE_DEFERRED_TEARDOWN_H_

#include <functional>

namespace millhopper {

// Calls `work`, which may wait for readers, without the interpreter. Python destroys its objects
// wherever its collector happens to run, so also in a function of map that a reader waits for:
// there the work is left to a thread of the pool, or to whoever reads next if there is none. If
// such functions go on when the process exits, it is never done, for it would wait for them.
//
// `work` and what it holds must not need the interpreter, nor throw. The caller has it.
void CallOutside(std::function<void()> work);

// Does what was left, if the calling thread is outside. Without the interpreter.
void CallWhatWasLeft();

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_DEFERRED_TEARDOWN_H_
