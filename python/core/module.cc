// SPDX-License-Identifier: Apache-2.0
// The module millrace._core: what the package is made of. Its face is python/millrace.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <vector>

#include "framework/error.h"
#include "framework/place.h"
#include "framework/plugin.h"
#include "framework/thread_pool.h"
#include "framework/version.h"
#include "python/core/away.h"
#include "python/core/collected.h"
#include "python/core/errors.h"
#include "python/core/executor.h"
#include "python/core/forks.h"
#include "python/core/function.h"
#include "python/core/loop.h"
#include "python/core/program.h"
#include "python/core/queue.h"
#include "python/core/reader.h"
#include "python/core/reader_program.h"
#include "python/core/recordio.h"
#include "python/core/schemas.h"
#include "python/core/scope.h"
#include "python/core/slots.h"
#include "python/core/tensor.h"

namespace py = pybind11;

namespace millrace {
namespace {

std::vector<std::string> DtypeNames(const PythonReader& reader) {
  std::vector<std::string> names;
  for (const DataType type : reader.dtypes()) names.emplace_back(ToString(type));
  return names;
}

std::shared_ptr<PythonReader> MakeReader(const std::string& program, const std::string& name,
                                         const std::string& variable, uint64_t seed,
                                         const Settings& settings) {
  return std::make_shared<PythonReader>(Program::FromString(program, name, settings), variable,
                                        seed);
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  TranslateErrors();
  module.attr("version") = kVersion;
  DefineTensor(&module);
  DefineScope(&module);
  DefineProgram(&module);
  DefineSchemas(&module);
  DefineExecutor(&module);
  DefineQueue(&module);
  DefineFunction(&module);
  DefineForks(&module);
  DefineRecordio(&module);
  module.def(
      "add_reader",
      [](const std::string& program, const std::string& type, const std::string& output,
         const std::string& underlying, const std::vector<Slot>& slots,
         const py::dict& attributes) {
        return AddReader(program, type, output, underlying, SpecsOf(slots), attributes);
      },
      py::arg("program"), py::arg("type"), py::arg("output"), py::arg("underlying"),
      py::arg("slots"), py::arg("attributes"));
  module.def(
      "program_text",
      [](const std::string& program, const std::string& name, const Settings& settings) {
        return Program::FromString(program, name, settings)->ToText();
      },
      py::arg("program"), py::arg("name"), py::arg("settings"));
  module.def("device_names", &DeviceNames);
  module.def("nobody_else_comes_back", &Away::NobodyElseComesBack);
  module.def("load_plugin", &LoadPlugin, py::arg("path"));
  module.def(
      "set_threads",
      [](int threads) {
        const Away away;
        ThreadPool::Get().SetSize(threads);
      },
      py::arg("threads"));
  DefineLoop(&module);
  py::class_<PythonReader, std::shared_ptr<PythonReader>>(
      module, "Reader", py::dynamic_attr(), py::custom_type_setup(&HideWhatIsDestroyed))
      .def(py::init(&MakeReader), py::arg("program"), py::arg("name"), py::arg("variable"),
           py::arg("seed"), py::arg("settings"))
      .def("begin", &BeginLoop, py::arg("pass_number"))
      .def("read_through", &PythonReader::ReadThrough, py::arg("pass_number"))
      .def("set_names", &PythonReader::SetNames, py::arg("names"))
      .def("length", &PythonReader::Length)
      .def("dtypes", &DtypeNames)
      .def("slots", [](PythonReader& reader) { return SlotsOf(reader.Slots()); })
      .def_property_readonly("variable", &PythonReader::variable);
}

}  // namespace millrace
