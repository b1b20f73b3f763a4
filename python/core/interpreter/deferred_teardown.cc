// SPDX-License-Identifier: Apache-2.0
#include "python/core/interpreter/deferred_teardown.h"

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "framework/base/thread_pool.h"
#include "python/core/interpreter/interpreter_release.h"
#include "python/core/interpreter/python_call.h"

namespace millhopper {
namespace {

using Teardown = std::function<void()>;

// The work that was left for later. As the rules of the pool demand, it waits only for work that
// has already begun.
class Left final : public Job {
 public:
  void Add(Teardown call) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      calls_.push_back(std::move(call));
      some_.store(true);
    }
    Submit();
  }
  void CallAll() {
    if (!some_.load(std::memory_order_relaxed)) return;
    std::vector<Teardown> calls;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      calls.swap(calls_);
      some_.store(false);
    }
    calling_ = true;
    for (Teardown& call : calls) std::exchange(call, nullptr)();
    calling_ = false;
  }
  // Whether this thread does the left work now, without the interpreter.
  static bool calling() { return calling_; }

 private:
  void Work() override { CallAll(); }

  static thread_local bool calling_;

  std::atomic<bool> some_{false};
  std::mutex mutex_;  // guards calls_
  std::vector<Teardown> calls_;
};

thread_local bool Left::calling_ = false;

// Never destroyed, because readers may still go away while the process exits.
Left& AllLeft() {
  static const auto* const left = new Ref<Left>(new Left);
  return **left;
}

}  // namespace

void CallOutside(Teardown work) {
  if (PythonCall::SomeOutlast()) {
    new Teardown(std::move(work));
  } else if (Left::calling()) {
    work();
  } else if (PythonCall::Within()) {
    AllLeft().Add(std::move(work));
  } else {
    const InterpreterRelease released;
    std::exchange(work, nullptr)();
  }
}

void CallWhatWasLeft() {
  if (!PythonCall::Within()) AllLeft().CallAll();
}

}  // namespace millhopper
