// SPDX-License-Identifier: Apache-2.0
// Destroys readers outside of the functions that they call.
#ifndef MILLHOPPER_PYTHON_CORE_INTERPRETER_DEFERRED_TEARDOWN_H_
#define MILLHOPPER_PYTHON_CORE_INTERPRETER_DEFERRED_TEARDOWN_H_

#include <functional>

namespace millhopper {

// Calls `work`, which may wait for readers, without the interpreter. Python's collector may destroy
// an object anywhere, so also in a function of map that a reader waits for. If the calling thread
// is in such a function, a worker thread does the work later, or the next thread that reads if the
// pool is empty. If such functions still run when the process exits, the work is never done,
// because it would wait for them.
//
// `work` and what it holds must not need the interpreter, and must not throw. The caller holds the
// interpreter.
void CallOutside(std::function<void()> work);

// Does the work that CallOutside left for later, if the calling thread is in no function of map. To
// be called without the interpreter.
void CallWhatWasLeft();

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_INTERPRETER_DEFERRED_TEARDOWN_H_
