// SPDX-License-Identifier: Apache-2.0
#include "python/core/away.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>

#include "framework/stop.h"
#include "python/core/borrowed.h"

namespace millrace {
namespace {

std::atomic<bool> exiting{false};
std::atomic<int> coming_back{0};
thread_local bool ends_the_interpreter = false;

// In a forked process only the thread that forked it exists, and that one was in Python.
[[maybe_unused]] const int registered =
    pthread_atfork(nullptr, nullptr, [] { coming_back.store(0); });

}  // namespace

// Either this sees that the process exits, or NobodyElseComesBack waits for it: all four accesses
// are sequentially consistent.
Away::~Away() {
  coming_back.fetch_add(1);
  if (exiting.load() && !ends_the_interpreter) {
    coming_back.fetch_sub(1);
    for (;;) pause();
  }
  PyEval_RestoreThread(thread_);
  coming_back.fetch_sub(1);
  LetDepartedGo();
}

void Away::NobodyElseComesBack() {
  ends_the_interpreter = true;
  exiting.store(true);
  RequestStop();
  PyThreadState* const thread = PyEval_SaveThread();
  for (Backoff backoff; coming_back.load() > 0;) backoff.Pause();
  PyEval_RestoreThread(thread);
}

}  // namespace millrace
