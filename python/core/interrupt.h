// SPDX-License-Identifier: Apache-2.0
// Ctrl-C while the core is at work for Python's main thread.
#ifndef MILLRACE_PYTHON_CORE_INTERRUPT_H_
#define MILLRACE_PYTHON_CORE_INTERRUPT_H_

#include <pybind11/pybind11.h>

#include <exception>
#include <utility>

#include "python/core/away.h"
#include "python/core/outside.h"

namespace millrace {

// Makes Ctrl-C stop the core where Python would raise KeyboardInterrupt by itself; a handler that
// the program has set is run when the core is done instead. To be called, with the interpreter,
// before work that may take long; costs a microsecond.
void WatchInterrupts();

// While it exists, on the main thread, a Ctrl-C becomes a request to stop.
class AtWorkForMain {
 public:
  AtWorkForMain();
  ~AtWorkForMain();
  AtWorkForMain(const AtWorkForMain&) = delete;
  AtWorkForMain& operator=(const AtWorkForMain&) = delete;

 private:
  const bool main_;
  const bool outer_;  // whether it was at work already
};

// Forgets the request to stop that a Ctrl-C has made, if it has, and throws KeyboardInterrupt; also
// where Python has raised that already, in a function that the core called, and `error`, of the
// core's work, is that it was stopped. To be called with the interpreter.
void RaiseInterrupt(const std::exception_ptr& error);

// Calls `work` without the interpreter; a Ctrl-C meanwhile becomes KeyboardInterrupt.
template <typename Work>
void WithoutInterpreter(Work&& work) {
  std::exception_ptr error;
  {
    const Away away;
    const AtWorkForMain at_work;
    try {
      std::forward<Work>(work)();
    } catch (...) {
      error = std::current_exception();
    }
    CallWhatWasLeft();
  }
  RaiseInterrupt(error);
  if (error) std::rethrow_exception(error);
}

}  // namespace millrace

#endif  // MILLRACE_PYTHON_CORE_INTERRUPT_H_
