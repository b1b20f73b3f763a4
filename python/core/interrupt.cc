// SPDX-License-Identifier: Apache-2.0
#include "python/core/interrupt.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "python/core/imports.h"
#include "python/core/python_call.h"

namespace py = pybind11;

namespace millhopper {
namespace {

struct sigaction pythons;  // the handler that ours stands before
std::atomic<bool> main_at_work{false};
std::atomic<bool> interrupted{false};  // while the main thread was at work
std::atomic<int> handling{0};          // threads that are in the handler
PyObject* met = nullptr;               // KeyboardInterrupt, where Python has raised it meanwhile
thread_local int works = 0;            // of the main thread, within one another

// Python raises KeyboardInterrupt on the thread that the process began with, or that forked it.
enum class IsMain { kUnknown, kYes, kNo };
thread_local IsMain is_main = IsMain::kUnknown;

bool OnMainThread() {
  if (is_main == IsMain::kUnknown) {
    is_main = syscall(SYS_gettid) == getpid() ? IsMain::kYes : IsMain::kNo;
  }
  return is_main == IsMain::kYes;
}

// The kernel may give the signal to any thread. Whatever the main thread begins or leaves
// meanwhile, it waits until this is done, and then finds that Python knows of the signal, and the
// core, too, if it was at work.
void OnInterrupt(int signal, siginfo_t* info, void* context) {
  handling.fetch_add(1);
  const bool at_work = main_at_work.load();
  if ((pythons.sa_flags & SA_SIGINFO) != 0) {
    pythons.sa_sigaction(signal, info, context);
  } else {
    pythons.sa_handler(signal);
  }
  if (at_work) {
    interrupted.store(true);
    RequestStop();
  }
  handling.fetch_sub(1);
}

void AwaitHandlers() {
  for (Backoff backoff; handling.load() > 0;) backoff.Pause();
}

// A reader that was stopped stays so until its next pass, also for whoever did not press Ctrl-C.
[[noreturn]] void Rethrow(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& stopped) {
    if (stopped.code() != ErrorCode::kCancelled || PythonCall::Ended()) throw;
    throw stopped.WithContext(
        "by a Ctrl-C, which ends the passes of all readers that are at work then; begin the next "
        "pass (reset the reader) to read again");
  }
}

}  // namespace

// The other threads are not in the child, nor is what the main thread was at if it was one of them.
void InterruptsAfterForkInChild() {
  is_main = IsMain::kYes;
  handling.store(0);
  main_at_work.store(works > 0);
  if (works == 0 && interrupted.exchange(false)) ClearStop();
}

void WatchInterrupts() {
  if (!OnMainThread()) return;
  struct sigaction now;
  if (sigaction(SIGINT, nullptr, &now) != 0) return;
  const bool ours = (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == &OnInterrupt;
  // Python forgets ours when a program sets a handler of its own.
  if (ours || now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN) return;
  const py::object handler = Imported().getsignal(static_cast<int>(SIGINT));
  if (!handler.is(Imported().default_int_handler)) return;
  pythons = now;
  struct sigaction action = now;
  action.sa_flags |= SA_SIGINFO;
  action.sa_sigaction = &OnInterrupt;
  sigaction(SIGINT, &action, nullptr);
}

bool IsInterruptOfWork(const py::error_already_set& raised) {
  if (!OnMainThread() || !interrupted.load()) return false;
  if (!raised.matches(PyExc_KeyboardInterrupt)) return false;
  if (met == nullptr) {
    met = py::object(raised.value()).release().ptr();
    if (raised.trace()) PyException_SetTraceback(met, raised.trace().ptr());
  }
  return true;
}

// What came before is Python's to raise: were it left for later, the work might never end.
AtWorkForMain::AtWorkForMain() : main_(OnMainThread()) {
  if (!main_) return;
  ++works;
  main_at_work.store(true);
  AwaitHandlers();
  if (PyErr_CheckSignals() == 0) return;
  Leave();
  throw py::error_already_set();
}

AtWorkForMain::~AtWorkForMain() {
  if (main_ && !left_) Leave();
}

bool AtWorkForMain::Leave() {
  left_ = true;
  if (--works > 0) return interrupted.load();
  main_at_work.store(false);
  AwaitHandlers();
  if (!interrupted.exchange(false)) return false;
  ClearStop();
  return true;
}

void AtWorkForMain::End(const std::exception_ptr& error) {
  if (main_ && Leave()) {
    // Python may have raised it already, in a function that the core called. What the function has
    // made of that is no matter: the core was stopped.
    const auto raised = works > 0 ? py::reinterpret_borrow<py::object>(met)
                                  : py::reinterpret_steal<py::object>(std::exchange(met, nullptr));
    if (PyErr_CheckSignals() == 0) PyErr_SetObject(PyExc_KeyboardInterrupt, raised.ptr());
    throw py::error_already_set();
  }
  if (error) Rethrow(error);
}

}  // namespace millhopper
