// SPDX-License-Identifier: Apache-2.0
// Types of pybind11 that Python's collector looks at.
#ifndef MILLHOPPER_PYTHON_CORE_COLLECTED_H_
#define MILLHOPPER_PYTHON_CORE_COLLECTED_H_

#include <pybind11/pybind11.h>

#include "python/core/borrowed.h"

namespace millhopper {

// For pybind11::custom_type_setup of every type that has the collector's flag, before whatever else
// it does: objects are hidden from the collector before they are destroyed. pybind11 2.10 leaves
// that out; a collection while a destructor is without the interpreter would destroy them again.
inline void HideWhatIsDestroyed(PyHeapTypeObject* heap_type) {
  heap_type->ht_type.tp_dealloc = [](PyObject* self) {
    PyObject_GC_UnTrack(self);
    const auto base =
        reinterpret_cast<PyTypeObject*>(pybind11::detail::get_internals().instance_base);
    base->tp_dealloc(self);
  };
}

// For pybind11::custom_type_setup of a class T whose objects hold others of Python, which may hold
// them in turn:
//   int T::Visit(visitproc visit, void* arg) const;  // shows each of them to the collector
//   void T::Forget();                                // lets go of all, and hands out none any more
//
// Forget comes when the collector has found the object to be garbage and has touched nothing yet. A
// thread of the core may be about to use what T holds, and the collector, which cannot know, takes
// garbage apart while such threads run: a function without its globals crashes whoever calls it.
template <typename T>
void LetCollectorSee(PyHeapTypeObject* heap_type) {
  struct Of {
    // Null while it is made.
    static T* Value(PyObject* self) {
      const auto value =
          reinterpret_cast<pybind11::detail::instance*>(self)->get_value_and_holder();
      return value.holder_constructed() ? value.template value_ptr<T>() : nullptr;
    }
    static void Forget(PyObject* self) {
      if (T* const value = Value(self)) {
        value->Forget();
        LetDepartedGoNow();
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
  // Once more for what somebody brought back to life, which is finalized only once.
  type->tp_clear = [](PyObject* self) {
    Of::Forget(self);
    return 0;
  };
}

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_COLLECTED_H_
