// SPDX-License-Identifier: Apache-2.0
#include "python/core/interrupt.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "framework/error.h"
#include "framework/stop.h"

namespace py = pybind11;

namespace millrace {
namespace {

struct sigaction pythons;  // the handler that ours stands before
std::atomic<bool> main_at_work{false};
std::atomic<bool> interrupted{false};

// Python raises KeyboardInterrupt on the thread that the process began with, or that forked it.
enum class IsMain { kUnknown, kYes, kNo };
thread_local IsMain is_main = IsMain::kUnknown;

bool OnMainThread() {
  if (is_main == IsMain::kUnknown) {
    static const int registered = pthread_atfork(nullptr, nullptr, [] { is_main = IsMain::kYes; });
    static_cast<void>(registered);
    is_main = syscall(SYS_gettid) == getpid() ? IsMain::kYes : IsMain::kNo;
  }
  return is_main == IsMain::kYes;
}

void OnInterrupt(int signal, siginfo_t* info, void* context) {
  if (main_at_work.load(std::memory_order_relaxed)) {
    interrupted.store(true, std::memory_order_relaxed);
    RequestStop();
  }
  if ((pythons.sa_flags & SA_SIGINFO) != 0) {
    pythons.sa_sigaction(signal, info, context);
  } else {
    pythons.sa_handler(signal);
  }
}

bool IsStopped(const std::exception_ptr& error) {
  if (!error) return false;
  try {
    std::rethrow_exception(error);
  } catch (const Error& stopped) {
    return stopped.code() == ErrorCode::kCancelled && stopped.cause() == nullptr;
  } catch (...) {
    return false;
  }
}

}  // namespace

void WatchInterrupts() {
  if (!OnMainThread()) return;
  struct sigaction now;
  if (sigaction(SIGINT, nullptr, &now) != 0) return;
  const bool ours = (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == &OnInterrupt;
  // Python forgets ours when a program sets a handler of its own.
  if (ours || now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN) return;
  const py::module_ signal = py::module_::import("signal");
  const py::object handler = signal.attr("getsignal")(static_cast<int>(SIGINT));
  if (!handler.is(signal.attr("default_int_handler"))) return;
  pythons = now;
  struct sigaction action = now;
  action.sa_flags |= SA_SIGINFO;
  action.sa_sigaction = &OnInterrupt;
  sigaction(SIGINT, &action, nullptr);
}

AtWorkForMain::AtWorkForMain()
    : main_(OnMainThread()), outer_(main_ && main_at_work.exchange(true)) {}

AtWorkForMain::~AtWorkForMain() {
  if (main_) main_at_work.store(outer_);
}

void RaiseInterrupt(const std::exception_ptr& error) {
  if (!interrupted.load(std::memory_order_relaxed) || !OnMainThread()) return;
  interrupted.store(false, std::memory_order_relaxed);
  ClearStop();
  if (PyErr_CheckSignals() == 0) {
    if (!IsStopped(error)) return;
    PyErr_SetNone(PyExc_KeyboardInterrupt);
  }
  throw py::error_already_set();
}

}  // namespace millrace
