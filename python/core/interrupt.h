// SPDX-License-Identifier: Apache-2.0
// Ctrl-C while the core is at work for Python's main thread.
#ifndef MILLHOPPER_PYTHON_CORE_INTERRUPT_H_
#define MILLHOPPER_PYTHON_CORE_INTERRUPT_H_

#include <pybind11/pybind11.h>

#include <exception>
#include <utility>

#include "python/core/deferred_teardown.h"
#include "python/core/interpreter_release.h"

namespace millhopper {

// What forks.cc has done in a child.
void InterruptsAfterForkInChild();

// Makes Ctrl-C stop the core where Python would raise KeyboardInterrupt by itself; a handler that
// the program has set is run when the core is done instead. To be called, with the interpreter,
// before work that may take long; costs a microsecond.
void WatchInterrupts();

// While it exists, on the main thread, a Ctrl-C becomes a request to stop. Every one that comes
// before End becomes one KeyboardInterrupt: there, or here if it came just before. Works may lie
// within one another, for functions that the core calls may call the core: then each of them ends
// with KeyboardInterrupt, and the outermost one forgets the request, which holds for all of them.
class AtWorkForMain {
 public:
  // With the interpreter, as all that follows.
  AtWorkForMain();
  ~AtWorkForMain();
  AtWorkForMain(const AtWorkForMain&) = delete;
  AtWorkForMain& operator=(const AtWorkForMain&) = delete;

  // Throws KeyboardInterrupt if a Ctrl-C has come, and `error`, what the work has thrown, if any,
  // otherwise.
  void End(const std::exception_ptr& error);

 private:
  // Whether a Ctrl-C has come; from now on none comes to this work.
  bool Leave();

  const bool main_;
  bool left_ = false;
};

// Whether a function that the core called was left by the KeyboardInterrupt of a Ctrl-C that stops
// the work, which is going to end with it. The function's error is that it was stopped.
bool IsInterruptOfWork(const pybind11::error_already_set& raised);

// Calls `work` without the interpreter; a Ctrl-C meanwhile becomes KeyboardInterrupt.
template <typename Work>
void WithoutInterpreter(Work&& work) {
  AtWorkForMain at_work;
  std::exception_ptr error;
  {
    const InterpreterRelease released;
    try {
      std::forward<Work>(work)();
    } catch (...) {
      error = std::current_exception();
    }
    CallWhatWasLeft();
  }
  at_work.End(error);
}

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_INTERRUPT_H_
