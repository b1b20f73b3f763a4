// SPDX-License-Identifier: Apache-2.0
#include "python/core/functions/map_function.h"

#include <pybind11/stl.h>

#include <utility>

#include "framework/base/error.h"
#include "python/core/functions/collected.h"
#include "python/core/interpreter/causes.h"
#include "python/core/interpreter/imports.h"
#include "python/core/interpreter/python_call.h"
#include "python/core/interpreter/text.h"
#include "python/core/values/arrays.h"
#include "python/core/values/numbered.h"
#include "python/core/values/slots.h"

namespace py = pybind11;

namespace millhopper {
namespace {

using Names = PythonFunction::Names;

// What functools.wraps has wrapped is what the person has written.
std::string TitleOf(const py::object& wrapped) {
  const py::object function = Imported().unwrap(wrapped);
  const py::object name = py::getattr(function, "__qualname__", py::none());
  const py::object code = py::getattr(function, "__code__", py::none());
  std::string title = "function " + py::repr(name.is_none() ? function : name).cast<std::string>();
  if (!code.is_none()) {
    title += StrCat(" (", Escaped(FromText(code.attr("co_filename"))), ":",
                    py::str(code.attr("co_firstlineno")).cast<std::string>(), ")");
  }
  return title;
}

Names NamesByNumber(size_t slots) {
  Names names;
  for (size_t i = 0; i < slots; ++i) names.push_back(StrCat("slot", i));
  return names;
}

// Sets the name of the element that the calling thread works on, and restores the one before at its
// end.
class CurrentRecord {
 public:
  explicit CurrentRecord(const RecordId& id) : before_(now_) { now_ = &id; }
  ~CurrentRecord() { now_ = before_; }
  CurrentRecord(const CurrentRecord&) = delete;
  CurrentRecord& operator=(const CurrentRecord&) = delete;

  // Null if the thread is not in a function of map.
  static const RecordId* Now() { return now_; }

 private:
  static thread_local const RecordId* now_;
  const RecordId* const before_;
};

thread_local const RecordId* CurrentRecord::now_ = nullptr;

py::object CurrentRecordOrNone() {
  const RecordId* const id = CurrentRecord::Now();
  if (id == nullptr) return py::none();
  return py::make_tuple(id->pass, id->sample, id->file, id->chunk, id->record, id->part);
}

}  // namespace

PythonFunction::PythonFunction(const py::object& function, std::optional<Names> inputs,
                               std::shared_ptr<const PythonFunction> below, ElementForm form)
    : number_(Numbered<PythonFunction>::All().Next()),
      function_(function),
      title_(TitleOf(function)),
      inputs_(std::move(inputs)),
      below_(std::move(below)),
      form_(std::move(form)) {}

void PythonFunction::Register(const std::shared_ptr<PythonFunction>& function) {
  Numbered<PythonFunction>::All().Register(function->number(), function);
}

std::shared_ptr<PythonFunction> PythonFunction::Find(int64_t number) {
  std::shared_ptr<PythonFunction> function = Numbered<PythonFunction>::All().Find(number);
  Require(function != nullptr, "there is no function ", number,
          " in this process: a program that calls one of Python's runs in the process that wrote "
          "it, as long as the millhopper.Reader that took the function exists");
  return function;
}

int PythonFunction::Visit(visitproc visit, void* arg) const {
  const int status = function_.Visit(visit, arg);
  return status != 0 ? status : raised_.Visit(visit, arg);
}

void PythonFunction::Forget() {
  function_.Clear();
  raised_.Forget();
}

std::optional<Names> PythonFunction::names() const {
  if (!form_.names.empty()) return form_.names;
  const std::lock_guard<std::mutex> lock(mutex_);
  return learned_;
}

Names PythonFunction::InputNames(size_t slots) const {
  std::optional<Names> names = inputs_;
  if (!names && below_ != nullptr) names = below_->names();
  if (!names) return NamesByNumber(slots);
  Require(names->size() == slots, names->size(), " names for a reader of ", slots, " slots");
  return *names;
}

py::object PythonFunction::Result(const std::vector<SlotSpec>& slots,
                                  std::vector<LoDTensor>* in) const {
  const py::object function = function_.get();
  Require(static_cast<bool>(function), "it is gone, with the millhopper.Reader that took it");
  const Names names = InputNames(in->size());
  py::dict element;
  for (size_t i = 0; i < in->size(); ++i) {
    element[py::str(names[i])] = ToPython(&(*in)[i], slots[i].text);
    (*in)[i].Clear();
  }
  py::object result = PythonCall::Result(function, element);
  Require(!result.is_none(), "it is None: does the function end without a return?");
  return result;
}

void PythonFunction::Call(const RecordId& id, const std::vector<SlotSpec>& slots,
                          std::vector<LoDTensor>* in, const ElementForm& form,
                          std::vector<LoDTensor>* out, uint64_t reader) const {
  const PythonCall call(reader);
  const CurrentRecord current(id);
  try {
    *out = ToElement(Result(slots, in), form);
  } catch (py::error_already_set& raised) {
    throw raised_.Keep(ErrorOfException(title_, &raised));
  } catch (const Error& error) {
    throw error.WithContext("in what " + title_ + " has returned");
  }
}

void PythonFunction::CallFor(uint64_t reader,
                             const std::function<void(const py::object&)>& take) const {
  const PythonCall call(reader);
  try {
    const py::object function = function_.get();
    Require(static_cast<bool>(function), "it is gone, with the millhopper.Reader that took it");
    take(PythonCall::Result(function, py::object()));
  } catch (py::error_already_set& raised) {
    throw raised_.Keep(ErrorOfException(title_, &raised));
  }
}

void PythonFunction::SetNames(const Names& names) {
  const std::lock_guard<std::mutex> lock(mutex_);
  learned_ = names;
}

ElementForm PythonFunction::Learn(const RecordId& id, const std::vector<SlotSpec>& slots,
                                  std::vector<LoDTensor>* in, uint64_t reader) {
  const PythonCall call(reader);
  const CurrentRecord current(id);
  const size_t inputs = in->size();
  try {
    py::object result = Result(slots, in);
    const std::vector<bool> texts = AreTexts(result);
    ElementForm form;
    if (py::isinstance<py::dict>(result)) {
      for (const auto& [key, value] : py::reinterpret_borrow<py::dict>(result)) {
        form.names.push_back(key.cast<std::string>());
      }
    }
    for (const LoDTensor& tensor : ToElement(std::move(result), form)) {
      SlotSpec slot;
      slot.dtype = tensor.dtype();
      for (size_t axis = 0; axis < tensor.dims().size(); ++axis) slot.dims.push_back(-1);
      slot.lod_level = static_cast<int>(tensor.lod().size());
      slot.text = texts[form.slots.size()];
      form.slots.push_back(slot);
    }
    Require(!form.slots.empty(), "an element of no values");
    if (form.names.empty() && form.slots.size() == inputs) form.names = InputNames(inputs);
    if (form.names.empty()) form.names = NamesByNumber(form.slots.size());
    SetNames(form.names);
    return form;
  } catch (py::error_already_set& raised) {
    throw raised_.Keep(ErrorOfException(title_, &raised));
  } catch (const py::cast_error&) {
    Throw(ErrorCode::kInvalidArgument, "a name of a slot is no text, in what ", title_,
          " has returned");
  } catch (const Error& error) {
    throw error.WithContext("in what " + title_ + " has returned");
  }
}

void DefineFunction(py::module_* module) {
  py::class_<PythonFunction, std::shared_ptr<PythonFunction>>(
      *module, "Function", "A function that create_python_map_reader calls, by its number.",
      py::custom_type_setup(&LetCollectorSee<PythonFunction>))
      .def(py::init([](const py::object& function, std::optional<Names> inputs,
                       std::shared_ptr<const PythonFunction> below, const std::vector<Slot>& slots,
                       Names names) {
             auto made = std::make_shared<PythonFunction>(
                 function, std::move(inputs), std::move(below),
                 ElementForm{SpecsOf(slots), std::move(names), false});
             PythonFunction::Register(made);
             return made;
           }),
           py::arg("function"), py::arg("inputs"), py::arg("below"), py::arg("slots").noconvert(),
           py::arg("names"))
      .def_property_readonly("number", &PythonFunction::number)
      .def("names", &PythonFunction::names);
  module->def("current_record", &CurrentRecordOrNone);
  module->def("end_functions", &PythonCall::EndAll, py::arg("seconds"));
}

}  // namespace millhopper
