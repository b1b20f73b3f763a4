// SPDX-License-Identifier: Apache-2.0
#include "python/core/scope.h"

#include <pybind11/stl.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/reader/reader.h"
#include "framework/reader/reader_holder.h"
#include "framework/tensor/tensor.h"
#include "python/core/interpreter/deferred_teardown.h"
#include "python/core/interpreter/interpreter_release.h"
#include "python/core/interpreter/interrupt.h"

namespace py = pybind11;

namespace millhopper {
namespace {

// How many tensors one program may be fed with. The limit keeps a mistaken index from taking all
// memory.
constexpr size_t kMaxFed = 1 << 16;

// A reader in a variable.
class VariableReader {
 public:
  explicit VariableReader(PythonVariable variable) : variable_(std::move(variable)) { Holder(); }

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
    static_cast<void>(variable_.get().Get<ReaderHolder>());  // throws if there is none
    return *variable_.Mutable<ReaderHolder>();
  }
  template <typename Function>
  void Work(Function function) {
    ReaderHolder& holder = Holder();
    Require(!variable_.scope().CallsThisThread(), "the reader in variable '",
            Escaped(variable_.get().name()),
            "' is used by a function that a reader in the same scope calls: each would wait "
            "for the other");
    WatchInterrupts();
    const UsesReader uses(variable_.scope().number(),
                          StrCat("the reader in variable '", Escaped(variable_.get().name()), "'"));
    WithoutInterpreter([&] { function(holder); });
  }

  const PythonVariable variable_;
};

// A list of tensors in a variable. Tensors that go in and out share their values.
class VariableTensors {
 public:
  explicit VariableTensors(PythonVariable variable) : variable_(std::move(variable)) { tensors(); }

  size_t Size() const { return tensors().size(); }
  LoDTensor Get(int64_t index) const { return tensors()[Checked(index)]; }
  void Set(int64_t index, const LoDTensor& tensor) { tensors()[Checked(index)] = tensor; }
  void Append(const LoDTensor& tensor) { tensors().push_back(tensor); }

 private:
  std::vector<LoDTensor>& tensors() const { return *variable_.Mutable<std::vector<LoDTensor>>(); }
  size_t Checked(int64_t index) const {
    const auto size = static_cast<int64_t>(Size());
    if (index < -size || index >= size) {
      throw py::index_error(StrCat("tensor ", index, " of a list of ", size));
    }
    return static_cast<size_t>(index < 0 ? index + size : index);
  }

  const PythonVariable variable_;
};

LoDTensor* TensorOf(const PythonVariable& variable) { return variable.Mutable<LoDTensor>(); }

using Tensors = std::vector<LoDTensor>;

// Puts a tensor into the list that feed operators read.
void SetFeedVariable(const std::shared_ptr<PythonScope>& scope, const LoDTensor& tensor,
                     const std::string& name, size_t index) {
  Require(index < kMaxFed, "tensor ", index, " of a list that holds ", kMaxFed, " at most");
  auto* tensors = PythonVariable(scope, scope->scope().Var(name)).Mutable<Tensors>();
  if (tensors->size() <= index) tensors->resize(index + 1);
  (*tensors)[index] = tensor;
}

LoDTensor GetFetchVariable(PythonScope& scope, const std::string& name, size_t index) {
  const Variable* variable = scope.scope().Find(name);
  Require(variable != nullptr, "there is no variable '", Escaped(name), "' in the scope");
  const auto& tensors = variable->Get<Tensors>();
  Require(index < tensors.size(), "variable '", Escaped(name), "' holds ", tensors.size(),
          " tensors; there is no tensor ", index);
  return tensors[index];
}

VariableTensors TensorsOf(const PythonVariable& variable) { return VariableTensors(variable); }

VariableReader ReaderOf(const PythonVariable& variable) { return VariableReader(variable); }

}  // namespace

PythonScope::~PythonScope() {
  // The task also keeps the parent, because the scope points to it.
  CallOutside([parent = parent_, scope = std::move(scope_)]() mutable { scope.reset(); });
}

void PythonVariable::Clear() const {
  RequireNoneToWaitFor();
  const InterpreterRelease released;
  variable_->Reset();
}

void PythonVariable::RequireNoneToWaitFor() const {
  Require(!variable_->Holds<ReaderHolder>() || !scope_->CallsThisThread(),
          "the reader in variable '", Escaped(variable_->name()),
          "' is dropped by a function that a reader in the same scope calls: it would wait "
          "for its threads, and they for the function");
}

void DefineScope(py::module_* module) {
  py::class_<VariableReader>(*module, "VariableReader",
                             "A reader that a startup program created.\n\n"
                             "Source: PaddlePaddle's fluid.core, 2018.")
      .def("reset", &VariableReader::Reset, "Begins the next pass, from wherever the reader is.")
      .def("has_next", &VariableReader::HasNext, "Whether there is a next element. Loads nothing.")
      .def("read_next", &VariableReader::ReadNext,
           "The next element, a LoDTensor a slot.\n\n"
           "Raises:\n    EndOfData: there is none.\n    Error: it cannot be read.");
  py::class_<VariableTensors>(*module, "VariableTensors",
                              "A list of tensors in a variable. Tensors that go in and out share "
                              "their values with those in it, not their levels of detail.")
      .def("__len__", &VariableTensors::Size)
      .def("__getitem__", &VariableTensors::Get, py::arg("index").noconvert())
      .def("__setitem__", &VariableTensors::Set, py::arg("index").noconvert(), py::arg("tensor"))
      .def("append", &VariableTensors::Append, py::arg("tensor"), "Puts a tensor at the end.");
  py::class_<PythonVariable>(
      *module, "Variable",
      "A named value in a scope; not to be used while a program runs there.\n\n"
      "Source: PaddlePaddle's fluid.core, 2018.")
      .def_property_readonly("name", [](const PythonVariable& self) { return self.get().name(); })
      .def(
          "is_initialized", [](const PythonVariable& self) { return self.get().has_value(); },
          "Whether it holds anything.")
      .def("clear", &PythonVariable::Clear,
           "Drops what it holds: the files and threads' work of a reader.")
      .def("get_tensor", &TensorOf, py::return_value_policy::reference_internal,
           "The tensor in it; made, and anything else dropped, if there is none.")
      .def("get_lod_tensor_array", &TensorsOf,
           "The list of tensors in it; made, and anything else dropped, if there is none.")
      .def("get_reader", &ReaderOf, "The reader in it.\n\nRaises:\n    Error: there is none.")
      .def(
          "__eq__",
          [](const PythonVariable& self, const PythonVariable& other) { return self == other; },
          py::is_operator())
      .def("__hash__",
           [](const PythonVariable& self) { return std::hash<const Variable*>()(&self.get()); });
  py::class_<PythonScope, std::shared_ptr<PythonScope>>(
      *module, "Scope",
      "Variables by name, over those of a scope around it.\n\n"
      "Source: PaddlePaddle's fluid.core, 2018.")
      .def(py::init<>())
      .def(
          "var",
          [](const std::shared_ptr<PythonScope>& self, const std::string& name) {
            return PythonVariable(self, self->scope().Var(name));
          },
          py::arg("name"), "The variable of this scope itself; made if there is none.")
      .def(
          "find_var",
          [](const std::shared_ptr<PythonScope>& self, const std::string& name) {
            Variable* const found = self->scope().Find(name);
            return found == nullptr ? std::nullopt
                                    : std::optional<PythonVariable>(std::in_place, self, found);
          },
          py::arg("name"), "The variable of this scope or of those around it; None if none has it.")
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
  module->def(
      "set_feed_variable", &SetFeedVariable, py::arg("scope"), py::arg("tensor"), py::arg("name"),
      py::arg("index").noconvert(),
      "Puts a tensor, which is shared, into the list of tensors that `feed` operators read.\n\n"
      "Raises:\n    TypeError: the index is negative, or no integer.\n"
      "    Error: the index is 65,536 or more.\n\n"
      "Source: PaddlePaddle's fluid.core, 2018.");
  module->def("get_fetch_variable", &GetFetchVariable, py::arg("scope"), py::arg("name"),
              py::arg("index").noconvert(),
              "A tensor, which is shared, of a list that `fetch` operators wrote.\n\n"
              "Raises:\n    Error: there is no such variable, or no tensor of this index in it.\n\n"
              "Source: PaddlePaddle's fluid.core, 2018.");
}

}  // namespace millhopper
