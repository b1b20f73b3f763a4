// SPDX-License-Identifier: Apache-2.0
// References to objects of Python for threads that do without the interpreter.
#ifndef MILLHOPPER_PYTHON_CORE_KEPT_OBJECT_H_
#define MILLHOPPER_PYTHON_CORE_KEPT_OBJECT_H_

#include <pybind11/pybind11.h>

#include "framework/base/memory.h"
#include "python/core/borrowed.h"

namespace millhopper {

// A reference that any thread may copy and drop, also when the interpreter is gone; what is dropped
// last is let go when Python runs.
class KeptObject {
 public:
  // With the interpreter, as get(), Clear() and Visit().
  explicit KeptObject(const pybind11::object& object)
      : object_(object.ptr()), kept_(Borrow(nullptr, 0, object)) {}
  pybind11::object get() const { return pybind11::reinterpret_borrow<pybind11::object>(object_); }
  // Lets go of the object; get() is null then.
  void Clear() {
    object_ = nullptr;
    kept_ = Ref<Buffer>();
  }
  // For Python's collector, where nobody has copied this.
  int Visit(visitproc visit, void* arg) const {
    return object_ == nullptr ? 0 : visit(object_, arg);
  }

 private:
  PyObject* object_;
  Ref<Buffer> kept_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_KEPT_OBJECT_H_
