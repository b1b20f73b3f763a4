// SPDX-License-Identifier: Apache-2.0
#include "python/core/scope.h"

#include <pybind11/stl.h>

#include <string>
#include <utility>
#include <vector>

#include "framework/error.h"
#include "framework/reader_holder.h"
#include "framework/tensor.h"
#include "python/core/interrupt.h"

namespace py = pybind11;

namespace millrace {
namespace {

// A reader in a variable, as the main program of a startup program sees it.
class VariableReader {
 public:
  explicit VariableReader(std::unique_ptr<ReaderBase> reader) : reader_(std::move(reader)) {}
  ~VariableReader() {
    const py::gil_scoped_release release;
    reader_.reset();
  }
  VariableReader(const VariableReader&) = delete;
  VariableReader& operator=(const VariableReader&) = delete;

  void Reset() {
    WatchInterrupts();
    WithoutInterpreter([this] { reader_->ReInit(); });
  }
  bool HasNext() {
    WatchInterrupts();
    bool more = false;
    WithoutInterpreter([this, &more] { more = reader_->HasNext(); });
    return more;
  }
  std::vector<LoDTensor> ReadNext() {
    WatchInterrupts();
    std::vector<LoDTensor> element;
    WithoutInterpreter([this, &element] { reader_->ReadNext(&element); });
    return element;
  }

 private:
  std::unique_ptr<ReaderBase> reader_;
};

LoDTensor* TensorOf(Variable* variable) { return variable->GetMutable<LoDTensor>(); }

std::unique_ptr<VariableReader> ReaderOf(const Variable& variable) {
  return std::make_unique<VariableReader>(variable.Get<ReaderHolder>().NewHandle());
}

}  // namespace

PythonScope::~PythonScope() {
  const py::gil_scoped_release release;
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
