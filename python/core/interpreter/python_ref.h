// SPDX-License-Identifier: Apache-2.0
// References to Python objects for threads that do not hold the interpreter.
#ifndef MILLHOPPER_PYTHON_CORE_INTERPRETER_PYTHON_REF_H_
#define MILLHOPPER_PYTHON_CORE_INTERPRETER_PYTHON_REF_H_

#include <pybind11/pybind11.h>

#include "framework/memory/memory.h"
#include "python/core/interpreter/borrowed.h"

namespace millhopper {

// A reference that any thread may copy and drop, also when the interpreter is gone. After the last
// copy is dropped, the object is released when Python runs next.
class PythonRef {
 public:
  // The caller holds the interpreter, also for get(), Clear() and Visit().
  explicit PythonRef(const pybind11::object& object)
      : object_(object.ptr()), kept_(Borrow(nullptr, 0, object)) {}
  pybind11::object get() const { return pybind11::reinterpret_borrow<pybind11::object>(object_); }
  // Releases the object; get() returns null afterwards.
  void Clear() {
    object_ = nullptr;
    kept_ = Ref<Buffer>();
  }
  // Shows the object to Python's collector. Only for a PythonRef that has no copies.
  int Visit(visitproc visit, void* arg) const {
    return object_ == nullptr ? 0 : visit(object_, arg);
  }

 private:
  PyObject* object_;
  Ref<Buffer> kept_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_INTERPRETER_PYTHON_REF_H_
