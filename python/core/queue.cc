// SPDX-License-Identifier: Apache-2.0
#include "python/core/queue.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "python/core/functions/collected.h"
#include "python/core/interpreter/causes.h"
#include "python/core/interpreter/interpreter_release.h"
#include "python/core/interpreter/interrupt.h"
#include "python/core/interpreter/python_call.h"
#include "python/core/scope.h"
#include "python/core/values/slots.h"
#include "python/core/values/values.h"
#include "readers/sources/element_queue.h"

namespace py = pybind11;

namespace millhopper {
namespace {

using Pushed = ElementQueue::Pushed;

// How often a waiting thread looks for signals.
constexpr std::chrono::milliseconds kUntilSignals{50};

ElementForm FormOf(const std::vector<Slot>& slots, std::vector<std::string> names,
                   const std::vector<std::string>& texts) {
  ElementForm form;
  form.slots = SpecsOf(slots);
  for (size_t i = 0; i < names.size() && i < form.slots.size(); ++i) {
    form.slots[i].text = std::count(texts.begin(), texts.end(), names[i]) > 0;
  }
  // Samples of py_reader are batches, which may be told by their first axis alone.
  form.reshapes = names.empty();
  form.names = std::move(names);
  return form;
}

// A queue and the form of its elements.
class PythonQueue {
 public:
  PythonQueue(int64_t capacity, const std::vector<Slot>& slots, std::vector<std::string> names,
              const std::vector<std::string>& texts)
      : queue_(std::make_shared<ElementQueue>(capacity)),
        form_(FormOf(slots, std::move(names), texts)) {}

  ElementQueue& queue() { return *queue_; }

  FedElements ReadBy(uint64_t reader) {
    read_in_ = reader;
    is_in_scope_ = false;
    return {queue_, form_};
  }

  // Puts the queue into a variable, for create_py_reader.
  void PutInto(const PythonVariable& variable) {
    read_in_ = variable.scope().number();
    auto* const value = variable.Mutable<std::shared_ptr<ElementQueue>>();
    const InterpreterRelease released;  // the assignment may destroy the old queue
    *value = queue_;
  }

  // Waits for room. Returns false if the queue is closed, or if its pass ends before there is room.
  bool Push(py::object item) {
    const uint64_t generation = queue_->generation();
    return PushElement(ToElement(std::move(item), form_), generation);
  }

  // Pushes all that an iterator yields; the first one is element `number` of the pass. Returns
  // false if the queue wants no more of that pass.
  bool Pump(const py::object& iterator, uint64_t generation, uint64_t number) {
    for (;; ++number) {
      PyObject* const next = [&] {
        const FeedsReader feeds(read_in_, is_in_scope_);
        return PyIter_Next(iterator.ptr());
      }();
      if (next == nullptr) {
        if (PyErr_Occurred() != nullptr) throw py::error_already_set();
        return true;
      }
      ElementQueue::Element element;
      try {
        element = ToElement(py::reinterpret_steal<py::object>(next), form_);
      } catch (const Error& error) {
        throw error.WithContext(StrCat("while taking element ", number, " of its provider"));
      }
      if (!PushElement(std::move(element), generation)) return false;
    }
  }

  void Fail(uint64_t generation, const std::string& who, const py::object& exception) {
    const Error error = raised_.Keep(ErrorOfException(who, exception));
    const InterpreterRelease released;
    queue_->Fail(generation, error);
  }

  // For LetCollectorSee: an exception of the provider may hold the provider, which may hold the
  // queue.
  int Visit(visitproc visit, void* arg) const { return raised_.Visit(visit, arg); }
  void Forget() { raised_.Forget(); }

  // Returns the next element. Throws EndOfData after the last one.
  ElementQueue::Element Take() {
    WatchInterrupts();
    ElementQueue::Element element;
    bool taken = false;
    WithoutInterpreter([&] { taken = queue_->Take(&element); });
    if (!taken) throw EndOfData("There is no next data. The pass is over");
    return element;
  }

  // Returns the number of the next pass, or none when no reader is attached any more.
  std::optional<uint64_t> AwaitNext(uint64_t generation) {
    const InterpreterRelease released;
    for (;;) {
      const auto next = queue_->AwaitNext(std::chrono::hours(1), generation);
      if (next || !queue_->attached()) return next;
    }
  }

 private:
  bool PushElement(ElementQueue::Element element, uint64_t generation) {
    for (;;) {
      Pushed pushed;
      {
        const InterpreterRelease released;
        pushed = queue_->PushWithin(kUntilSignals, generation, &element);
      }
      if (pushed != Pushed::kFull) return pushed == Pushed::kDone;
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    }
  }

  const std::shared_ptr<ElementQueue> queue_;
  const ElementForm form_;
  // These are guarded by the interpreter.
  uint64_t read_in_ = 0;  // the number of the scope in which readers read it, or of the reader
  bool is_in_scope_ = true;
  RaisedErrors raised_;
};

}  // namespace

FedElements FedBy(const py::object& queue, uint64_t reader) {
  return queue.cast<PythonQueue&>().ReadBy(reader);
}

void DefineQueue(py::module_* module) {
  const auto released = py::call_guard<InterpreterRelease>();
  py::class_<PythonQueue>(*module, "Queue",
                          "A bounded queue of elements, filled by Python and read by the reader "
                          "that create_py_reader makes.\n\n"
                          "Source: PaddlePaddle's fluid.core, 2018.",
                          py::custom_type_setup(&LetCollectorSee<PythonQueue>))
      .def(py::init<int64_t, const std::vector<Slot>&, std::vector<std::string>,
                    const std::vector<std::string>&>(),
           py::arg("capacity").noconvert(), py::arg("slots").noconvert(),
           py::arg("names") = std::vector<std::string>(),
           py::arg("texts") = std::vector<std::string>())
      .def("put_into", &PythonQueue::PutInto, py::arg("variable"))
      .def("push", &PythonQueue::Push, py::arg("element"))
      .def("pump", &PythonQueue::Pump, py::arg("iterator"), py::arg("generation"),
           py::arg("number"))
      .def("take", &PythonQueue::Take)
      .def("fail", &PythonQueue::Fail, py::arg("generation"), py::arg("who"), py::arg("exception"))
      .def("await_next", &PythonQueue::AwaitNext, py::arg("generation"))
      .def(
          "generation", [](PythonQueue& self) { return self.queue().generation(); }, released)
      .def(
          "close",
          [](PythonQueue& self, std::optional<uint64_t> generation) {
            self.queue().Close(generation ? *generation : self.queue().generation());
          },
          py::arg("generation") = std::nullopt, released)
      .def(
          "expect",
          [](PythonQueue& self, const std::string& missing) { self.queue().Expect(missing); },
          py::arg("missing"), released)
      .def(
          "attach", [](PythonQueue& self) { return self.queue().Attach(); }, released)
      .def(
          "detach", [](PythonQueue& self) { self.queue().Detach(); }, released)
      .def(
          "attached", [](PythonQueue& self) { return self.queue().attached(); }, released)
      .def(
          "take_skip",
          [](PythonQueue& self, uint64_t generation) { return self.queue().TakeSkip(generation); },
          py::arg("generation"), released)
      .def(
          "pass_number", [](PythonQueue& self) { return self.queue().pass(); }, released)
      .def(
          "keep_note",
          [](PythonQueue& self, std::string note) { self.queue().Note(std::move(note)); },
          py::arg("note"), released)
      .def(
          "note", [](PythonQueue& self) { return self.queue().note(); }, released)
      .def(
          "restart", [](PythonQueue& self, uint64_t skip) { self.queue().Restart(skip); },
          py::arg("skip") = 0, released)
      .def(
          "size", [](PythonQueue& self) { return self.queue().size(); }, released)
      .def("capacity", [](PythonQueue& self) { return self.queue().capacity(); })
      .def(
          "is_closed", [](PythonQueue& self) { return self.queue().closed(); }, released);
}

}  // namespace millhopper
