// SPDX-License-Identifier: Apache-2.0
// Threads of Python that the core works for.
#ifndef MILLHOPPER_PYTHON_CORE_INTERPRETER_INTERPRETER_RELEASE_H_
#define MILLHOPPER_PYTHON_CORE_INTERPRETER_INTERPRETER_RELEASE_H_

#include <pybind11/pybind11.h>

namespace millhopper {

// While it exists, the thread does not hold the interpreter, and other threads may use it.
//
// While the process exits, CPython ends a thread that takes the interpreter back, in the middle of
// its code; in C++ that is a crash. So, unlike pybind11::gil_scoped_release, the destructor then
// does not return: the thread sleeps until the process is gone. So the program does not see ends of
// data and errors that only the exit has caused.
class InterpreterRelease {
 public:
  InterpreterRelease() : thread_(PyEval_SaveThread()) {}
  ~InterpreterRelease();
  InterpreterRelease(const InterpreterRelease&) = delete;
  InterpreterRelease& operator=(const InterpreterRelease&) = delete;

  // Marks the calling thread as one that the exit ends and waits for, such as Millhopper's own
  // threads in Python.
  static void ThisThreadIsWaitedFor();
  // From now on only three kinds of thread get the interpreter back: the calling thread, which ends
  // the interpreter, the threads of readers in Python, which it waits for, and threads in functions
  // that the core calls.
  static void OnlyThoseWaitedForComeBack();
  // From now on only the calling thread gets the interpreter back. Stops the work that the core
  // does for other threads, and waits for threads that are just getting the interpreter back. The
  // caller holds the interpreter.
  static void NobodyElseComesBack();
  // forks.cc calls this in the child of a fork.
  static void AfterForkInChild();

 private:
  PyThreadState* const thread_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_INTERPRETER_INTERPRETER_RELEASE_H_
