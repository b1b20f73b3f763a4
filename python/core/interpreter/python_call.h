// SPDX-License-Identifier: Apache-2.0
// Threads of the core that call functions of Python.
#ifndef MILLHOPPER_PYTHON_CORE_INTERPRETER_PYTHON_CALL_H_
#define MILLHOPPER_PYTHON_CORE_INTERPRETER_PYTHON_CALL_H_

#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>

#include "framework/base/stop.h"
#include "framework/base/thread_pool.h"

namespace millhopper {

// A call of a Python function that a reader waits for. While the object exists, the thread holds
// the interpreter. It must not wait for readers to finish their work then, because they may wait
// for this call.
//
// While the process exits, CPython ends a thread that asks for the interpreter, by unwinding its
// stack. That would unwind frames of the core, which are not made for it, so such a thread sleeps
// until the process is gone.
class PythonCall {
 public:
  // `reader` is the number of the reader that calls the function, from OpensReader; 0 if no reader
  // does (numbers begin at 1). Throws kCancelled when the interpreter exits.
  explicit PythonCall(uint64_t reader);
  ~PythonCall();
  PythonCall(const PythonCall&) = delete;
  PythonCall& operator=(const PythonCall&) = delete;

  // Calls the function with an argument, or without one if that is null, and returns its result.
  // Throws pybind11::error_already_set.
  static pybind11::object Result(const pybind11::object& function,
                                 const pybind11::object& argument);

  // Whether the calling thread is in a PythonCall; and whether this reader waits for one that it is
  // in: the reader has made it itself, or one that uses the reader that has made it, and so on
  // (UsesReader).
  static bool Within() { return innermost_ != nullptr; }
  static bool WithinOneOf(uint64_t reader);

  // forks.cc calls this in the child of a fork.
  static void AfterForkInChild();
  // Lets no new call begin, and waits up to `seconds` for the running ones. The caller holds the
  // interpreter.
  static void EndAll(double seconds);
  static bool Ended();
  // Whether some calls still run after EndAll. What they use must not be destroyed.
  static bool SomeOutlast();

 private:
  friend class UsesReader;
  static thread_local const PythonCall* innermost_;

  const uint64_t reader_;
  const PythonCall* const outer_;
  const ForksAtOnce forks_at_once_;
  const RunsToItsEnd runs_to_its_end_;  // a function that is left may have changed what it uses
  PyGILState_STATE state_;
};

// While it exists, the calling thread makes elements for a queue that readers with the number
// `reader` read, so that these wait for what it uses.
class FeedsReader {
 public:
  // `of_scope`: the number is that of a scope, which has the queue and other readers, too; those
  // may be used meanwhile.
  FeedsReader(uint64_t reader, bool of_scope) : outer_(current_) { current_ = {reader, of_scope}; }
  ~FeedsReader() { current_ = outer_; }
  FeedsReader(const FeedsReader&) = delete;
  FeedsReader& operator=(const FeedsReader&) = delete;

  static uint64_t Current() { return current_.reader; }  // 0 if there are none
  static bool MayUse(uint64_t reader) { return current_.of_scope && current_.reader == reader; }

 private:
  struct Fed {
    uint64_t reader;
    bool of_scope;
  };

  static thread_local Fed current_;

  const Fed outer_;
};

// While it exists, the calling thread works on reader number `reader`, or waits for those that do.
// If the thread is in a PythonCall, or feeds a reader, then the reader that has made the call, or
// is fed, waits meanwhile. So that no two readers wait for each other's functions, a thread never
// begins to use a reader that waits for the caller.
class UsesReader {
 public:
  // Throws kInvalidArgument if WithinOneOf(reader); `what` is how the text calls the reader.
  UsesReader(uint64_t reader, const std::string& what);
  ~UsesReader();
  UsesReader(const UsesReader&) = delete;
  UsesReader& operator=(const UsesReader&) = delete;

  // Whether the functions of reader `first` wait for those of `last`.
  static bool Waits(uint64_t first, uint64_t last);

 private:
  const uint64_t user_;  // the reader that waits for the thread; 0 if there is none
  const uint64_t reader_;
};

// While it exists, the readers that the calling thread creates belong to reader number `reader`:
// their Python functions are called in its name.
class OpensReader {
 public:
  explicit OpensReader(uint64_t reader) : outer_(current_) { current_ = reader; }
  ~OpensReader() { current_ = outer_; }
  OpensReader(const OpensReader&) = delete;
  OpensReader& operator=(const OpensReader&) = delete;

  static uint64_t Current() { return current_; }
  // Returns a number that no reader has yet, from 1 on.
  static uint64_t NewNumber();

 private:
  static thread_local uint64_t current_;

  const uint64_t outer_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_INTERPRETER_PYTHON_CALL_H_
