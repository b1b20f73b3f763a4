// SPDX-License-Identifier: Apache-2.0
#include "python/core/interpreter/forks.h"

#include <pthread.h>

#include "framework/base/thread_pool.h"
#include "python/core/interpreter/interpreter_release.h"
#include "python/core/interpreter/interrupt.h"
#include "python/core/interpreter/python_call.h"

namespace py = pybind11;

namespace millhopper {
namespace {

// What made the workers wait while this thread forks.
enum class HeldBy { kNobody, kHook, kHandler };
thread_local HeldBy held_by = HeldBy::kNobody;

void Hold(HeldBy who) {
  const InterpreterRelease released;
  ThreadPool::Get().Pause();
  held_by = who;
}

void LetGo() {
  ThreadPool::Get().Resume();
  held_by = HeldBy::kNobody;
}

void BeforeFork() {
  const bool has_interpreter = Py_IsInitialized() != 0 && PyGILState_Check() == 1;
  if (has_interpreter && held_by == HeldBy::kNobody) Hold(HeldBy::kHandler);
}

void AfterForkInParent() {
  if (held_by == HeldBy::kHandler) LetGo();
}

void AfterForkInChild() {
  held_by = HeldBy::kNobody;
  InterpreterRelease::AfterForkInChild();
  PythonCall::AfterForkInChild();
  InterruptsAfterForkInChild();
}

}  // namespace

void DefineForks(py::module_* module) {
  ThreadPool::Get();  // registers its fork handler first, which thus runs after this one
  pthread_atfork(&BeforeFork, &AfterForkInParent, &AfterForkInChild);
  module->def("hold_workers", [] { Hold(HeldBy::kHook); });
  module->def("let_workers_go", &LetGo, py::call_guard<InterpreterRelease>());
}

}  // namespace millhopper
