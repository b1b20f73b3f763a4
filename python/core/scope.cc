// SPDX-License-Identifier: Apache-2.0
#include "python/core/scope.h"

#include <pybind11/stl.h>

#include <string>
#include <utility>
#include <vector>

#include "framework/error.h"
#include "framework/reader_holder.h"
#include "framework/tensor.h"
#include "python/core/away.h"
#include "python/core/interrupt.h"

namespace py = pybind11;

namespace millrace {
namespace {

// A reader in a variable, as operators use it.
class VariableReader {
 public:
  explicit VariableReader(Variable* variable) : variable_(variable) { Holder(); }

  void Reset() {
    Work([](ReaderHolder& holder) { holder.ReInit(); });
  }
  bool HasNext() {
    bool more = false;
    Work([&more](ReaderHolder& holder) { more = holder.HasNext(); });
    return more;
  }
  std::vector<LoDTensor> ReadNext() {
    std::vector<LoDTensor> element;
    Work([&element](ReaderHolder& holder) { holder.ReadNext(&element); });
    return element;
  }

 private:
  ReaderHolder& Holder() {
    static_cast<void>(variable_->Get<ReaderHolder>());  // throws if there is none
    return *variable_->GetMutable<ReaderHolder>();
  }
  template <typename Function>
  void Work(Function function) {
    ReaderHolder& holder = Holder();
    WatchInterrupts();
    WithoutInterpreter([&] { function(holder); });
  }

  Variable* const variable_;
};

LoDTensor* TensorOf(Variable* variable) { return variable->GetMutable<LoDTensor>(); }

VariableReader ReaderOf(Variable* variable) { return VariableReader(variable); }

}  // namespace

PythonScope::~PythonScope() {
  const Away away;
  scope_.reset();
}

void DefineScope(py::module_* module) {
  py::class_<VariableReader>(*module, "VariableReader", "A reader that a startup program created.")
      .def("reset", &VariableReader::Reset, "Begins the next pass, from wherever the reader is.")
      .def("has_next", &VariableReader::HasNext, "Whether there is a next element. Loads nothing.")
      .def("read_next", &VariableReader::ReadNext,
           "The next element, a LoDTensor a slot.\n\n"
           "Raises:\n    EndOfData: there is none.\n    Error: it cannot be read.");
  py::class_<Variable, std::unique_ptr<Variable, py::nodelete>>(
      *module, "Variable", "A named value in a scope; not to be used while a program runs there.")
      .def_property_readonly("name", &Variable::name)
      .def("is_initialized", &Variable::has_value, "Whether it holds anything.")
      .def("get_tensor", &TensorOf, py::return_value_policy::reference_internal,
           "The tensor in it; made, and anything else dropped, if there is none.")
      .def("get_reader", &ReaderOf, py::keep_alive<0, 1>(),
           "The reader in it.\n\nRaises:\n    Error: there is none.");
  py::class_<PythonScope, std::shared_ptr<PythonScope>>(
      *module, "Scope", "Variables by name, over those of a scope around it.")
      .def(py::init<>())
      .def(
          "var", [](PythonScope& self, const std::string& name) { return self.scope().Var(name); },
          py::return_value_policy::reference_internal, py::arg("name"),
          "The variable of this scope itself; made if there is none.")
      .def(
          "find_var",
          [](PythonScope& self, const std::string& name) { return self.scope().Find(name); },
          py::return_value_policy::reference_internal, py::arg("name"),
          "The variable of this scope or of those around it; None if none has it.")
      .def(
          "new_scope",
          [](const std::shared_ptr<PythonScope>& self) {
            return std::make_shared<PythonScope>(self);
          },
          "A scope inside this one, which lives for as long as somebody holds it.")
      .def(
          "drop_kids", [](PythonScope&) {},
          "Does nothing: scopes inside go by themselves. Here for programs of the lineage.")
      .def(
          "names", [](PythonScope& self) { return self.scope().LocalNames(); },
          "The names of the variables of this scope itself, sorted.");
}

}  // namespace millrace
