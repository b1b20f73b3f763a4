// SPDX-License-Identifier: Apache-2.0
#include "python/core/borrowed.h"

#include <mutex>
#include <utility>
#include <vector>

namespace py = pybind11;

namespace millrace {
namespace {

// Owners whose buffers are gone. A thread of the core must not wait for the interpreter, for
// whoever has it may be waiting for that thread.
struct Departed {
  std::mutex mutex;
  std::vector<PyObject*> owners;
};

// Never destroyed: buffers go when the process exits, too.
Departed& AllDeparted() {
  static auto* const departed = new Departed;
  return *departed;
}

// Runs with the interpreter.
int LetGo(void* /*unused*/) {
  std::vector<PyObject*> owners;
  {
    const std::lock_guard<std::mutex> lock(AllDeparted().mutex);
    owners.swap(AllDeparted().owners);
  }
  for (PyObject* const owner : owners) Py_DECREF(owner);
  return 0;
}

void Depart(PyObject* owner) {
  bool first;
  {
    const std::lock_guard<std::mutex> lock(AllDeparted().mutex);
    first = AllDeparted().owners.empty();
    AllDeparted().owners.push_back(owner);
  }
  // May be called without the interpreter. If there is no room, the next Borrow does it.
  if (first && Py_IsInitialized() != 0) Py_AddPendingCall(&LetGo, nullptr);
}

}  // namespace

Ref<Buffer> Borrow(void* data, size_t bytes, py::object owner) {
  LetGo(nullptr);
  PyObject* const kept = owner.release().ptr();
  return Buffer::Foreign(data, bytes, [kept] { Depart(kept); });
}

}  // namespace millrace
