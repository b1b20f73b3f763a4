// SPDX-License-Identifier: Apache-2.0
#include "python/core/interpreter/python_call.h"

#include <cxxabi.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "python/core/interpreter/interpreter_release.h"

namespace py = pybind11;

namespace millhopper {
namespace {

// When the interpreter goes away, no thread of the core may be in Python or enter it later.
std::atomic<int> calls{0};
std::atomic<bool> ended{false};

// Which readers the functions of a reader use now.
struct Uses {
  // Whether they lead from one reader to another. The caller holds the mutex.
  bool Lead(uint64_t from, uint64_t to) const {
    std::set<uint64_t> met = {from};
    for (std::vector<uint64_t> next = {from}; !next.empty();) {
      const uint64_t reader = next.back();
      next.pop_back();
      if (reader == to) return true;
      const auto [begin, end] = of.equal_range(reader);
      for (auto use = begin; use != end; ++use) {
        if (met.insert(use->second).second) next.push_back(use->second);
      }
    }
    return false;
  }

  std::mutex mutex;  // guards:
  std::multimap<uint64_t, uint64_t> of;
};

Uses* all_uses = new Uses;  // never destroyed: threads may outlive the interpreter

[[noreturn]] void Park() {
  for (;;) pause();
}

}  // namespace

thread_local const PythonCall* PythonCall::innermost_ = nullptr;
thread_local uint64_t OpensReader::current_ = 0;
thread_local FeedsReader::Fed FeedsReader::current_ = {0, false};

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

// In the child only the thread that forked exists, so only its calls are counted.
void PythonCall::AfterForkInChild() {
  int own = 0;
  for (const PythonCall* call = innermost_; call != nullptr; call = call->outer_) ++own;
  calls.store(own);
  all_uses = new Uses;  // another thread may have held the mutex
}

bool PythonCall::WithinOneOf(uint64_t reader) {
  for (const PythonCall* call = innermost_; call != nullptr; call = call->outer_) {
    if (call->reader_ == reader) return true;
  }
  return innermost_ != nullptr && UsesReader::Waits(reader, innermost_->reader_);
}

UsesReader::UsesReader(uint64_t reader, const std::string& what)
    : user_(PythonCall::Within()          ? PythonCall::innermost_->reader_
            : FeedsReader::MayUse(reader) ? 0
                                          : FeedsReader::Current()),
      reader_(reader) {
  if (user_ == 0) return;
  Uses& uses = *all_uses;
  const std::lock_guard<std::mutex> lock(uses.mutex);
  Require(!uses.Lead(reader_, user_), what,
          " is used by a function that it calls itself, or by one of a reader that its functions "
          "use: each would wait for the other");
  uses.of.emplace(user_, reader_);
}

UsesReader::~UsesReader() {
  if (user_ == 0) return;
  Uses& uses = *all_uses;
  const std::lock_guard<std::mutex> lock(uses.mutex);
  const auto [begin, end] = uses.of.equal_range(user_);
  const auto own = std::find(begin, end, std::pair<const uint64_t, uint64_t>(user_, reader_));
  if (own != end) uses.of.erase(own);  // a child of a fork does not have those of its parent
}

bool UsesReader::Waits(uint64_t first, uint64_t last) {
  Uses& uses = *all_uses;
  const std::lock_guard<std::mutex> lock(uses.mutex);
  return uses.Lead(first, last);
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
