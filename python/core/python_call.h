// SPDX-License-Identifier: Apache-2.0
// Threads of the core while they are in Python.
#ifndef MILLHOPPER_PYTHON_CORE_PYTHON_CALL_H_
#define MILLHOPPER_PYTHON_CORE_PYTHON_CALL_H_

#include <pybind11/pybind11.h>

#include <cstdint>

#include "framework/base/thread_pool.h"

namespace millhopper {

// A call of a function of Python that a reader waits for. While it exists, the thread has the
// interpreter, and must not wait for readers to finish what they are at: they may wait for it.
//
// CPython ends a thread that comes back to it while the process exits, by unwinding its stack. That
// stack is not the core's to lose, so such a thread sleeps instead until the process is gone.
class PythonCall {
 public:
  // `reader` says whose function is called; 0 is nobody's who would ask. Throws kCancelled when the
  // interpreter exits.
  explicit PythonCall(uint64_t reader);
  ~PythonCall();
  PythonCall(const PythonCall&) = delete;
  PythonCall& operator=(const PythonCall&) = delete;

  // What the function returns. Throws pybind11::error_already_set.
  static pybind11::object Result(const pybind11::object& function,
                                 const pybind11::object& argument);

  // Whether the calling thread is in such a call, or in one of this reader.
  static bool Within() { return innermost_ != nullptr; }
  static bool WithinOneOf(uint64_t reader);

  // What forks.cc has done in a child.
  static void AfterForkInChild();
  // Has no call begin from now on, and waits, up to `seconds`, for those that are at work. With the
  // interpreter.
  static void EndAll(double seconds);
  static bool Ended();
  // Whether there are calls that did not end when the interpreter exits: what they use is to stay.
  static bool SomeOutlast();

 private:
  static thread_local const PythonCall* innermost_;

  const uint64_t reader_;
  const PythonCall* const outer_;
  const ForksAtOnce forks_at_once_;
  PyGILState_STATE state_;
};

// While it exists, what the calling thread creates are readers below this one.
class OpensReader {
 public:
  explicit OpensReader(uint64_t reader) : outer_(current_) { current_ = reader; }
  ~OpensReader() { current_ = outer_; }
  OpensReader(const OpensReader&) = delete;
  OpensReader& operator=(const OpensReader&) = delete;

  static uint64_t Current() { return current_; }
  // For who opens readers: one that nobody has, from 1.
  static uint64_t NewNumber();

 private:
  static thread_local uint64_t current_;

  const uint64_t outer_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_PYTHON_CALL_H_
