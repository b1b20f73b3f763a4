// SPDX-License-Identifier: Apache-2.0
// pybind11 types whose objects Python's garbage collector looks at.
#ifndef MILLHOPPER_PYTHON_CORE_FUNCTIONS_COLLECTED_H_
#define MILLHOPPER_PYTHON_CORE_FUNCTIONS_COLLECTED_H_

#include <pybind11/pybind11.h>

#include "python/core/interpreter/borrowed.h"

namespace millhopper {

// For pybind11::custom_type_setup of every type with the collector's flag, to be called first. It
// hides an object from the collector before the object is destroyed. pybind11 2.10 does not do
// that, so a collection that runs while a destructor has released the interpreter would destroy the
// object again.
inline void HideWhatIsDestroyed(PyHeapTypeObject* heap_type) {
  heap_type->ht_type.tp_dealloc = [](PyObject* self) {
    PyObject_GC_UnTrack(self);
    const auto base =
        reinterpret_cast<PyTypeObject*>(pybind11::detail::get_internals().instance_base);
    base->tp_dealloc(self);
  };
}

// For pybind11::custom_type_setup of a class T whose objects hold Python objects, which may hold
// them in turn. T has two functions:
//   int T::Visit(visitproc visit, void* arg) const;  // shows each of them to the collector
//   void T::Forget();                                // releases all, and returns none any more
//
// The collector calls Forget when it has found the object to be garbage and has destroyed nothing
// yet. It does not know that a thread of the core may be about to use what T holds, and it takes
// garbage apart while such threads run. A thread that called a function without its globals would
// crash.
template <typename T>
void LetCollectorSee(PyHeapTypeObject* heap_type) {
  struct Of {
    // Null while the object is being made.
    static T* Value(PyObject* self) {
      const auto value =
          reinterpret_cast<pybind11::detail::instance*>(self)->get_value_and_holder();
      return value.holder_constructed() ? value.template value_ptr<T>() : nullptr;
    }
    static void Forget(PyObject* self) {
      if (T* const value = Value(self)) {
        value->Forget();
        ReleaseDepartedNow();
      }
    }
  };
  HideWhatIsDestroyed(heap_type);
  PyTypeObject* const type = &heap_type->ht_type;
  type->tp_flags |= Py_TPFLAGS_HAVE_GC;
  type->tp_traverse = [](PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    const T* const value = Of::Value(self);
    return value == nullptr ? 0 : value->Visit(visit, arg);
  };
  type->tp_finalize = &Of::Forget;
  // tp_finalize is called only once. This call is for an object that Python code has brought back
  // to life after that.
  type->tp_clear = [](PyObject* self) {
    Of::Forget(self);
    return 0;
  };
}

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_FUNCTIONS_COLLECTED_H_
