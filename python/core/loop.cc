// SPDX-License-Identifier: Apache-2.0
#include "python/core/loop.h"

#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "python/core/interpreter/errors.h"
#include "python/core/reader.h"

namespace py = pybind11;

namespace millhopper {
namespace {

// An iterator over one pass. A function that the reader calls may hold the code that loops, and
// such a cycle is freed only by Python's collector.
struct Loop {
  PyObject_HEAD;
  PyObject* owner;       // the Python object of the reader; null when the loop is over
  PythonReader* reader;  // in `owner`
  std::shared_ptr<PythonReader::Pass> pass;
};

Loop* From(PyObject* self) { return reinterpret_cast<Loop*>(self); }

py::object Take(Loop* loop) {
  return py::reinterpret_steal<py::object>(std::exchange(loop->owner, nullptr));
}

// Ends the loop early, if it still runs.
void Leave(Loop* loop) {
  if (const py::object owner = Take(loop)) loop->reader->Release(loop->pass.get());
}

PyObject* Next(PyObject* self) {
  Loop* const loop = From(self);
  // Its own reference, because another thread may end the loop meanwhile.
  const auto owner = py::reinterpret_borrow<py::object>(loop->owner);
  if (!owner) return nullptr;
  try {
    const std::shared_ptr<PythonReader::Pass> pass = loop->pass;
    if (std::optional<py::dict> batch = loop->reader->Next(pass.get())) {
      return batch->release().ptr();
    }
    Take(loop);
  } catch (...) {
    SetPythonError();
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    // If this thread is in a function that the reader calls, it must not use the loop. The error
    // then does not end the loop for the thread that waits for the function.
    if (!loop->reader->CallsThisThread()) Leave(loop);
    PyErr_Restore(type, value, trace);
  }
  return nullptr;
}

PyObject* Close(PyObject* self, PyObject* /*unused*/) {
  Leave(From(self));
  Py_RETURN_NONE;
}

int Visit(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(From(self)->owner);
  return 0;
}

// The collector calls this before it takes garbage apart. The functions of the reader can still be
// called then, and they are until its threads have finished their work.
void Finalize(PyObject* self) {
  PyObject *type, *value, *trace;  // the exception, if any, of the code that drops the loop
  PyErr_Fetch(&type, &value, &trace);
  Leave(From(self));
  PyErr_Restore(type, value, trace);
}

int Clear(PyObject* self) {
  Finalize(self);
  return 0;
}

void Destroy(PyObject* self) {
  PyObject_GC_UnTrack(self);  // what follows may wait without the interpreter
  Finalize(self);
  PyTypeObject* const cls = Py_TYPE(self);
  std::destroy_at(&From(self)->pass);
  cls->tp_free(self);
  Py_DECREF(cls);
}

PyTypeObject* loop_type = nullptr;

}  // namespace

py::object BeginLoop(const py::object& reader, uint64_t pass,
                     const std::optional<std::string>& position) {
  auto* const core = reader.cast<PythonReader*>();
  std::shared_ptr<PythonReader::Pass> begun = core->Begin(pass, position);
  PyObject* const self = loop_type->tp_alloc(loop_type, 0);
  if (self == nullptr) {
    core->Release(begun.get());
    throw py::error_already_set();
  }
  Loop* const loop = From(self);
  new (&loop->pass) std::shared_ptr<PythonReader::Pass>(std::move(begun));
  loop->owner = py::object(reader).release().ptr();
  loop->reader = core;
  return py::reinterpret_steal<py::object>(self);
}

void DefineLoop(py::module_* module) {
  static PyMethodDef methods[] = {
      {"close", &Close, METH_NOARGS, "Ends the pass here and gives back all that it holds."},
      {nullptr, nullptr, 0, nullptr},
  };
  static PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("The batches of one pass.")},
      {Py_tp_iter, reinterpret_cast<void*>(&PyObject_SelfIter)},
      {Py_tp_iternext, reinterpret_cast<void*>(&Next)},
      {Py_tp_methods, methods},
      {Py_tp_traverse, reinterpret_cast<void*>(&Visit)},
      {Py_tp_finalize, reinterpret_cast<void*>(&Finalize)},
      {Py_tp_clear, reinterpret_cast<void*>(&Clear)},
      {Py_tp_dealloc, reinterpret_cast<void*>(&Destroy)},
      {0, nullptr},
  };
  static PyType_Spec spec = {"millhopper._core.Loop", sizeof(Loop), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};
  PyObject* const type = PyType_FromSpec(&spec);
  if (type == nullptr) throw py::error_already_set();
  loop_type = reinterpret_cast<PyTypeObject*>(type);
  // Python code makes none. From 3.10 on there is a flag of the type that says so.
  loop_type->tp_new = nullptr;
  module->attr("Loop") = py::handle(type);
}

}  // namespace millhopper
