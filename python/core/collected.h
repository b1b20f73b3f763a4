// SPDX-License-Identifier: Apache-2.0
// Types of pybind11 that Python's collector looks at.
#ifndef MILLRACE_PYTHON_CORE_COLLECTED_H_
#define MILLRACE_PYTHON_CORE_COLLECTED_H_

#include <pybind11/pybind11.h>

namespace millrace {

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

}  // namespace millrace

#endif  // MILLRACE_PYTHON_CORE_COLLECTED_H_
