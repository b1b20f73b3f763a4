// SPDX-License-Identifier: Apache-2.0
#include "python/core/interpreter/borrowed.h"

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

namespace py = pybind11;

namespace millhopper {
namespace {

// Owners whose buffers are gone. A thread of the core must not wait for the interpreter to release
// them, because the thread that holds it may be waiting for that thread.
struct Departed {
  std::mutex mutex;
  std::vector<PyObject*> owners;
  bool is_pending = false;  // whether ReleaseOwners is going to be called
};

// Never destroyed, because buffers may still go away while the process exits.
Departed& AllDeparted() {
  static auto* const departed = new Departed;
  return *departed;
}

// Whether there are any owners to release; read without the mutex.
std::atomic<bool> some_departed{false};

// Python calls this with the interpreter.
int ReleaseOwners(void* /*unused*/) {
  std::vector<PyObject*> owners;
  {
    const std::lock_guard<std::mutex> lock(AllDeparted().mutex);
    owners.swap(AllDeparted().owners);
    AllDeparted().is_pending = false;
    some_departed.store(false);
  }
  for (PyObject* const owner : owners) Py_DECREF(owner);
  return 0;
}

void Depart(PyObject* owner) {
  {
    const std::lock_guard<std::mutex> lock(AllDeparted().mutex);
    AllDeparted().owners.push_back(owner);
    some_departed.store(true);
  }
  if (Py_IsInitialized() != 0 && PyGILState_Check() != 0) ReleaseDeparted();
}

}  // namespace

Ref<Buffer> Borrow(void* data, size_t bytes, py::object owner) {
  ReleaseDepartedNow();
  PyObject* const kept = owner.release().ptr();
  return Buffer::Foreign(data, bytes, [kept] { Depart(kept); });
}

void ReleaseDepartedNow() { ReleaseOwners(nullptr); }

// Py_AddPendingCall is meant for threads without the interpreter, too. But before CPython 3.12 it
// looks at the state of the thread that holds the interpreter, which may just be ending.
void ReleaseDeparted() {
  if (!some_departed.load()) return;
  const std::lock_guard<std::mutex> lock(AllDeparted().mutex);
  Departed& departed = AllDeparted();
  if (departed.is_pending || departed.owners.empty()) return;
  // If the queue of pending calls is full, a later call of ReleaseDeparted tries again.
  departed.is_pending = Py_AddPendingCall(&ReleaseOwners, nullptr) == 0;
}

}  // namespace millhopper
