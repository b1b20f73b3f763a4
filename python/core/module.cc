// SPDX-License-Identifier: Apache-2.0
// The module millhopper._core, on which the package is built. Its users see python/millhopper.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/secrets.h"
#include "framework/base/thread_pool.h"
#include "framework/base/version.h"
#include "framework/io/cache/remote_cache.h"
#include "framework/io/command.h"
#include "framework/io/listed_files.h"
#include "framework/memory/place.h"
#include "framework/plugin.h"
#include "framework/program/program.h"
#include "framework/reader/first_pass_indexes.h"
#include "framework/reader/position.h"
#include "python/core/executor.h"
#include "python/core/functions/arrow.h"
#include "python/core/functions/collected.h"
#include "python/core/functions/map_function.h"
#include "python/core/inference.h"
#include "python/core/interpreter/errors.h"
#include "python/core/interpreter/forks.h"
#include "python/core/interpreter/imports.h"
#include "python/core/interpreter/interpreter_release.h"
#include "python/core/interpreter/interrupt.h"
#include "python/core/interpreter/python_call.h"
#include "python/core/interpreter/text.h"
#include "python/core/loop.h"
#include "python/core/program.h"
#include "python/core/queue.h"
#include "python/core/reader.h"
#include "python/core/reader_program.h"
#include "python/core/recordio.h"
#include "python/core/saved_scope.h"
#include "python/core/schemas.h"
#include "python/core/scope.h"
#include "python/core/values/python_arrays.h"
#include "python/core/values/slots.h"
#include "python/core/values/tensor.h"

namespace py = pybind11;

namespace millhopper {
namespace {

std::vector<std::string> DtypeNames(const PythonReader& reader) {
  std::vector<std::string> names;
  for (const DataType type : reader.dtypes()) names.emplace_back(ToString(type));
  return names;
}

py::dict ToDict(const ChainStats& reader) {
  py::dict fields;
  fields["kind"] = reader.kind;
  fields["name"] = reader.name;
  fields["elements"] = reader.elements;
  fields["planned"] = reader.planned;
  fields["bytes_read"] = reader.bytes_read;
  fields["load_seconds"] = reader.load_seconds;
  fields["wait_seconds"] = reader.wait_seconds;
  fields["in_store"] = reader.in_store;
  fields["memory_bytes"] = reader.memory_bytes;
  py::list lanes;
  for (const LaneStats& lane : reader.lanes)
    lanes.append(py::make_tuple(lane.elements, lane.seconds));
  fields["lanes"] = lanes;
  py::list below;
  for (const ChainStats& one : reader.below) below.append(ToDict(one));
  fields["below"] = below;
  return fields;
}

void SetThreads(const py::int_& number) {
  Require(!PythonCall::Within(),
          "the number of threads is set by a function that a reader calls (map): it would wait for "
          "the threads to finish what they are at, and they for the function");
  int overflows = 0;
  const int64_t threads = PyLong_AsLongLongAndOverflow(number.ptr(), &overflows);
  Require(overflows == 0 && threads == static_cast<int>(threads), "a pool of ",
          py::repr(number).cast<std::string>(), " threads; there can be 0 to 1024");
  const InterpreterRelease released;
  ThreadPool::Get().SetSize(static_cast<int>(threads));
}

// Returns the names and the records of the files, and the attributes with which they are read.
py::tuple WriteFiles(PythonReader& reader, uint64_t pass, const std::string& name,
                     const std::vector<std::string>& names, uint64_t shard_records,
                     uint64_t shard_bytes, bool overwrite) {
  OutputRules rules;
  rules.overwrite = overwrite;
  rules.stream = true;
  const Written written = reader.Write(pass, name, names, {shard_records, shard_bytes}, rules);
  py::list files;
  for (const std::string& file : written.inputs) files.append(py::bytes(file));
  py::dict attributes;
  if (!written.fields.empty()) attributes["fields"] = written.fields;
  if (!written.slots.names.empty()) attributes["names"] = written.slots.names;
  for (const auto& [key, value] : written.attributes.values()) {
    attributes[key.c_str()] = AttributeToPython(value);
  }
  return py::make_tuple(files, written.records(), attributes);
}

std::shared_ptr<PythonReader> MakeReader(std::shared_ptr<Program> program,
                                         const std::string& variable, uint64_t seed) {
  return std::make_shared<PythonReader>(std::move(program), variable, seed);
}

void Define(py::module_ module) {
  ImportAll();
  TranslateErrors();
  module.attr("version") = kVersion;
  DefineTensor(&module);
  DefineScope(&module);
  DefineSavedScope(&module);
  DefineProgram(&module);
  DefineSchemas(&module);
  DefineInference(&module);
  DefineExecutor(&module);
  DefineQueue(&module);
  DefineArrays(&module);
  DefineFunction(&module);
  DefineArrow(&module);
  DefineForks(&module);
  DefineRecordio(&module);
  DefineReaderPrograms(&module);
  module.def(
      "merge_positions",
      [](const std::vector<std::string>& positions) {
        std::vector<Position> ranks;
        ranks.reserve(positions.size());
        for (const std::string& one : positions) ranks.push_back(Position::Parse(one));
        return py::bytes(Position::OfAllRanks(std::move(ranks)).Serialize());
      },
      py::arg("positions"));
  module.def("device_names", &DeviceNames);
  module.def("this_thread_is_waited_for", &InterpreterRelease::ThisThreadIsWaitedFor);
  module.def("only_those_waited_for_come_back", &InterpreterRelease::OnlyThoseWaitedForComeBack);
  module.def("nobody_else_comes_back", &InterpreterRelease::NobodyElseComesBack);
  module.def(
      "come_back", [] {}, py::call_guard<InterpreterRelease>());
  module.def("load_plugin", &LoadPlugin, py::arg("path"));
  module.def("allow_exec", &AllowExec, py::arg("allowed"));
  module.def("allow_local_entries", &AllowLocalEntries, py::arg("allowed"));
  module.def(
      "without_secrets",
      [](py::handle text) { return ToText(WithoutSecrets(FromText(text), TextKind::kName)); },
      py::arg("text"));
  module.def("set_cache", &RemoteCache::Use, py::arg("folder"), py::arg("most_bytes"));
  module.def("set_index", &FirstPassIndexes::Leave, py::arg("enabled"));
  module.def("set_threads", &SetThreads, py::arg("threads"));
  DefineLoop(&module);
  py::class_<PythonReader, std::shared_ptr<PythonReader>>(
      module, "Reader", py::dynamic_attr(), py::custom_type_setup(&HideWhatIsDestroyed))
      .def(py::init(&MakeReader), py::arg("program"), py::arg("variable"), py::arg("seed"))
      .def("begin", &BeginLoop, py::arg("pass_number"), py::arg("position") = py::none())
      .def("save",
           [](PythonReader& reader) -> std::optional<py::bytes> {
             const std::optional<std::string> position = reader.Save();
             if (!position) return std::nullopt;
             return py::bytes(*position);
           })
      .def("read_through", &PythonReader::ReadThrough, py::arg("pass_number"))
      .def("write", &WriteFiles, py::arg("pass_number"), py::arg("name"), py::arg("names"),
           py::arg("shard_records"), py::arg("shard_bytes"), py::arg("overwrite"))
      .def("set_names", &PythonReader::SetNames, py::arg("names"))
      .def("length", &PythonReader::Length)
      .def("stats", [](PythonReader& reader) { return ToDict(reader.Stats()); })
      .def("table", [](PythonReader& reader) { return ToTable({reader.Stats()}); })
      .def("dtypes", &DtypeNames)
      .def("slots", [](PythonReader& reader) { return SlotsOf(reader.Slots()); })
      .def_property_readonly("variable", &PythonReader::variable)
      .def("warnings", &PythonReader::Warnings)
      .def("added_slots", &PythonReader::AddedSlots)
      .def("lanes", &PythonReader::Lanes);
}

// Fills the module, in the main interpreter only. A process has one core, whose threads enter
// Python through the main interpreter. A thread of another interpreter that waits for them would
// wait for itself.
int Execute(PyObject* object) {
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
    PyErr_SetString(PyExc_ImportError,
                    "millhopper works in the main interpreter of a process only, and this is a "
                    "subinterpreter; import it in the main one, or in another process");
    return -1;
  }
  try {
    py::detail::get_internals();
    static PyObject* first = nullptr;
    if (first == nullptr) {
      Define(py::reinterpret_borrow<py::module_>(object));
      first = py::handle(object).inc_ref().ptr();
    } else {  // the module was removed from sys.modules and is imported again
      PyDict_Update(PyModule_GetDict(object), PyModule_GetDict(first));
    }
  } catch (...) {
    SetPythonError();
    return -1;
  }
  return 0;
}

}  // namespace
}  // namespace millhopper

// Replaces PYBIND11_MODULE, which takes the interpreter's state before Execute could refuse a
// subinterpreter, and whose function Python does not call for every interpreter.
extern "C" PYBIND11_EXPORT PyObject* PyInit__core() {
  static PyModuleDef_Slot slots[] = {
      {Py_mod_exec, reinterpret_cast<void*>(&millhopper::Execute)},
      {0, nullptr},
  };
  static PyModuleDef definition = {
      PyModuleDef_HEAD_INIT, "_core", nullptr, 0, nullptr, slots, nullptr, nullptr, nullptr};
  return PyModuleDef_Init(&definition);
}
