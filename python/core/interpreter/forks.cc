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
enum class PausedBy { kNobody, kHook, kHandler };
thread_local PausedBy paused_by = PausedBy::kNobody;

void Pause(PausedBy who) {
  const InterpreterRelease released;
  ThreadPool::Get().Pause();
  paused_by = who;
}

void Resume() {
  ThreadPool::Get().Resume();
  paused_by = PausedBy::kNobody;
}

void BeforeFork() {
  const bool has_interpreter = Py_IsInitialized() != 0 && PyGILState_Check() == 1;
  if (has_interpreter && paused_by == PausedBy::kNobody) Pause(PausedBy::kHandler);
}

void AfterForkInParent() {
  if (paused_by == PausedBy::kHandler) Resume();
}

void AfterForkInChild() {
  paused_by = PausedBy::kNobody;
  InterpreterRelease::AfterForkInChild();
  PythonCall::AfterForkInChild();
  InterruptsAfterForkInChild();
}

}  // namespace

void DefineForks(py::module_* module) {
  ThreadPool::Get();  // registers its fork handler first, which thus runs after this one
  pthread_atfork(&BeforeFork, &AfterForkInParent, &AfterForkInChild);
  module->def("pause_workers", [] { Pause(PausedBy::kHook); });
  module->def("resume_workers", &Resume, py::call_guard<InterpreterRelease>());
}

}  // namespace millhopper
