// SPDX-License-Identifier: Apache-2.0
#include "python/core/interpreter/interpreter_release.h"

#include <unistd.h>

#include <atomic>

#include "framework/base/stop.h"
#include "python/core/interpreter/borrowed.h"
#include "python/core/interpreter/python_call.h"

namespace millhopper {
namespace {

enum class ComesBack { kEverybody, kWhoIsWaitedFor, kNobody };
std::atomic<ComesBack> comes_back{ComesBack::kEverybody};
std::atomic<int> coming_back{0};
thread_local bool ends_the_interpreter = false;
thread_local bool is_waited_for = false;

bool MayComeBack() {
  const ComesBack who = comes_back.load();
  if (who == ComesBack::kEverybody || ends_the_interpreter) return true;
  return who == ComesBack::kWhoIsWaitedFor && (is_waited_for || PythonCall::Within());
}

}  // namespace

// Either this thread sees that the process exits, or NobodyElseComesBack waits for this thread,
// since all four accesses are sequentially consistent.
InterpreterRelease::~InterpreterRelease() {
  coming_back.fetch_add(1);
  if (!MayComeBack()) {
    coming_back.fetch_sub(1);
    for (;;) pause();
  }
  PyEval_RestoreThread(thread_);
  coming_back.fetch_sub(1);
  ReleaseDeparted();
}

// The child has only the thread that forked, and that one held the interpreter.
void InterpreterRelease::AfterForkInChild() { coming_back.store(0); }

void InterpreterRelease::ThisThreadIsWaitedFor() { is_waited_for = true; }

void InterpreterRelease::OnlyThoseWaitedForComeBack() {
  ends_the_interpreter = true;
  comes_back.store(ComesBack::kWhoIsWaitedFor);
}

void InterpreterRelease::NobodyElseComesBack() {
  ends_the_interpreter = true;
  comes_back.store(ComesBack::kNobody);
  RequestStop();
  PyThreadState* const thread = PyEval_SaveThread();
  for (Backoff backoff; coming_back.load() > 0;) backoff.Pause();
  PyEval_RestoreThread(thread);
}

}  // namespace millhopper
