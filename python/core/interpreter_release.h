// SPDX-License-Identifier: Apache-2.0
// Threads of Python while the core works for them.
#ifndef MILLHOPPER_PYTHON_CORE_INTERPRETER_RELEASE_H_
#define MILLHOPPER_PYTHON_CORE_INTERPRETER_RELEASE_H_

#include <pybind11/pybind11.h>

namespace millhopper {

// While it exists, the thread does without the interpreter, which others may use.
//
// CPython ends a thread that comes back while the process exits, in the middle of what it is in; in
// C++ that is a crash. So, unlike pybind11::gil_scoped_release, this lets nobody come back then:
// the thread sleeps until the process is gone. Nor does it tell its program of ends and errors that
// only the exit has made.
class InterpreterRelease {
 public:
  InterpreterRelease() : thread_(PyEval_SaveThread()) {}
  ~InterpreterRelease();
  InterpreterRelease(const InterpreterRelease&) = delete;
  InterpreterRelease& operator=(const InterpreterRelease&) = delete;

  // The calling thread is one that the exit ends and waits for; of Millhopper's own.
  static void ThisThreadIsWaitedFor();
  // From now on only this thread, which ends the interpreter, comes back, and those that it waits
  // for: the threads of readers in Python, and functions that the core calls.
  static void OnlyThoseWaitedForComeBack();
  // From now on only this thread does. Stops what the others have the core do, and lets those
  // through who are about to come back. With the interpreter.
  static void NobodyElseComesBack();
  // What forks.cc has done in a child.
  static void AfterForkInChild();

 private:
  PyThreadState* const thread_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_INTERPRETER_RELEASE_H_
