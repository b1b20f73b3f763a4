// SPDX-License-Identifier: Apache-2.0
// Handles Ctrl-C while the core works for Python's main thread.
#ifndef MILLHOPPER_PYTHON_CORE_INTERPRETER_INTERRUPT_H_
#define MILLHOPPER_PYTHON_CORE_INTERPRETER_INTERRUPT_H_

#include <pybind11/pybind11.h>

#include <exception>
#include <utility>

#include "python/core/interpreter/deferred_teardown.h"
#include "python/core/interpreter/interpreter_release.h"

namespace millhopper {

// forks.cc calls this in the child of a fork.
void InterruptsAfterForkInChild();

// Makes Ctrl-C stop the core if the program has Python's default handler, which raises
// KeyboardInterrupt. If the program has set its own handler, Python runs that one after the core is
// done. Call it with the interpreter before work that may take long; it costs a microsecond.
void WatchInterrupts();

// While it exists on the main thread, a Ctrl-C becomes a request to stop. All Ctrl-Cs that come
// before End become one KeyboardInterrupt, which End throws; the constructor throws it for a Ctrl-C
// that came just before. Objects may be nested, because functions that the core calls may call the
// core. Then each of them ends with KeyboardInterrupt, and the outermost one withdraws the request,
// which holds for all of them.
class AtWorkForMain {
 public:
  // The caller holds the interpreter here and in all functions below.
  AtWorkForMain();
  ~AtWorkForMain();
  AtWorkForMain(const AtWorkForMain&) = delete;
  AtWorkForMain& operator=(const AtWorkForMain&) = delete;

  // Throws KeyboardInterrupt if a Ctrl-C has come. Otherwise throws `error`, the exception of the
  // work, if there is one.
  void End(const std::exception_ptr& error);

 private:
  // Ends the work: later Ctrl-Cs do not belong to it. Returns whether one has come before.
  bool Leave();

  const bool main_;
  bool left_ = false;
};

// Whether `raised` is the KeyboardInterrupt of a Ctrl-C that stops the running work. The work will
// end with that exception, so the error of the function that met it is only that it was stopped.
bool IsInterruptOfWork(const pybind11::error_already_set& raised);

// Calls `work` without the interpreter. If a Ctrl-C comes meanwhile, throws KeyboardInterrupt.
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

#endif  // MILLHOPPER_PYTHON_CORE_INTERPRETER_INTERRUPT_H_
