// SPDX-License-Identifier: Apache-2.0
#include "python/core/python_call.h"

#include <cxxabi.h>
#include <unistd.h>

#include <atomic>
#include <chrono>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "python/core/interpreter_release.h"

namespace py = pybind11;

namespace millhopper {
namespace {

// When the interpreter goes away, no thread of the core may be in Python or enter it later.
std::atomic<int> calls{0};
std::atomic<bool> ended{false};

[[noreturn]] void Park() {
  for (;;) pause();
}

}  // namespace

thread_local const PythonCall* PythonCall::innermost_ = nullptr;
thread_local uint64_t OpensReader::current_ = 0;

PythonCall::PythonCall(uint64_t reader) : reader_(reader), outer_(innermost_) {
  calls.fetch_add(1);
  if (ended.load()) {
    calls.fetch_sub(1);
    Throw(ErrorCode::kCancelled, "the interpreter is exiting");
  }
  try {
    state_ = PyGILState_Ensure();
  } catch (const abi::__forced_unwind&) {
    Park();
  }
  innermost_ = this;
}

PythonCall::~PythonCall() {
  innermost_ = outer_;
  PyGILState_Release(state_);
  calls.fetch_sub(1);
}

py::object PythonCall::Result(const py::object& function, const py::object& argument) {
  PyObject* result = nullptr;
  try {  // the unwinding destroys nothing that this block made
    result = argument ? PyObject_CallOneArg(function.ptr(), argument.ptr())
                      : PyObject_CallNoArgs(function.ptr());
  } catch (const abi::__forced_unwind&) {
    Park();
  }
  if (result == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(result);
}

// In the child only the thread that forked goes on, so only its calls are counted.
void PythonCall::AfterForkInChild() {
  int own = 0;
  for (const PythonCall* call = innermost_; call != nullptr; call = call->outer_) ++own;
  calls.store(own);
}

bool PythonCall::WithinOneOf(uint64_t reader) {
  for (const PythonCall* call = innermost_; call != nullptr; call = call->outer_) {
    if (call->reader_ == reader) return true;
  }
  return false;
}

uint64_t OpensReader::NewNumber() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1) + 1;
}

void PythonCall::EndAll(double seconds) {
  ended.store(true);
  const InterpreterRelease released;
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (Backoff backoff; calls.load() > 0 && std::chrono::steady_clock::now() < until;) {
    backoff.Pause();
  }
}

bool PythonCall::Ended() { return ended.load(); }

bool PythonCall::SomeOutlast() { return ended.load() && calls.load() > 0; }

}  // namespace millhopper
