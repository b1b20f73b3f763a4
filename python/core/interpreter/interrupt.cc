// SPDX-License-Identifier: Apache-2.0
#include "python/core/interpreter/interrupt.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "python/core/interpreter/imports.h"
#include "python/core/interpreter/python_call.h"

namespace py = pybind11;

namespace millhopper {
namespace {

struct sigaction pythons;  // Python's handler, which ours calls
std::atomic<bool> main_at_work{false};
std::atomic<bool> interrupted{false};  // a Ctrl-C came while the main thread was at work
std::atomic<int> handling{0};          // threads that are in the handler
PyObject* met = nullptr;               // the KeyboardInterrupt, if Python raised it during the work
thread_local int works = 0;            // nested AtWorkForMain objects of the main thread

// Python raises KeyboardInterrupt on its main thread: the one that the process began with, or that
// forked the process.
enum class IsMain { kUnknown, kYes, kNo };
thread_local IsMain is_main = IsMain::kUnknown;

bool OnMainThread() {
  if (is_main == IsMain::kUnknown) {
    is_main = syscall(SYS_gettid) == getpid() ? IsMain::kYes : IsMain::kNo;
  }
  return is_main == IsMain::kYes;
}

// The kernel may run this handler on any thread. When the main thread begins or leaves work
// meanwhile, it waits in AwaitHandlers until the handler is done. By then Python knows of the
// signal, and so does the core if it was at work.
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

// A stopped reader stays stopped until its next pass, also for threads that have nothing to do with
// the Ctrl-C. The error tells them what happened.
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

// The child has only the thread that forked. If that was not the main thread, the work of the main
// thread is gone, too.
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
  // When a program sets its own handler, Python replaces ours.
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

// Python raises a Ctrl-C that came before the work began. The core was not asked to stop for it, so
// the work might never end otherwise.
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
    // A function that the core called may have met the KeyboardInterrupt already. Whatever that
    // function did with it, the core was stopped, so it is thrown here.
    const auto raised = works > 0 ? py::reinterpret_borrow<py::object>(met)
                                  : py::reinterpret_steal<py::object>(std::exchange(met, nullptr));
    if (PyErr_CheckSignals() == 0) PyErr_SetObject(PyExc_KeyboardInterrupt, raised.ptr());
    throw py::error_already_set();
  }
  if (error) Rethrow(error);
}

}  // namespace millhopper
