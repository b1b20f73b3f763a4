// SPDX-License-Identifier: Apache-2.0
#include "python/core/program.h"

#include <google/protobuf/util/json_util.h>
#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/program/program.h"

namespace py = pybind11;

namespace millhopper {
namespace {

using google::protobuf::util::JsonParseOptions;
using google::protobuf::util::JsonPrintOptions;
using google::protobuf::util::JsonStringToMessage;
using google::protobuf::util::MessageToJsonString;

std::shared_ptr<const Program> WithoutLines(const std::string& json, const std::string& name) {
  proto::ProgramDesc desc;
  const auto status = JsonStringToMessage(json, &desc, JsonParseOptions());
  Require(status.ok(), name, ": ", status.ToString());
  return Program::FromString(desc.SerializePartialAsString(), name);
}

// Goes through the text form, so that errors name lines of to_text().
std::shared_ptr<const Program> FromJson(const std::string& json, const std::string& name) {
  return Program::FromString(WithoutLines(json, name)->ToText(), name);
}

std::string ToJson(const Program& program) {
  JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string json;
  const auto status = MessageToJsonString(program.desc(), &json, options);
  Require(status.ok(), program.name(), ": ", status.ToString());
  return json;
}

}  // namespace

void DefineProgram(py::module_* module) {
  py::class_<Program, std::shared_ptr<Program>>(*module, "Program")
      .def(py::init([](const std::string& content, const std::string& name,
                       const Settings& settings) {
             return std::const_pointer_cast<Program>(Program::FromString(content, name, settings));
           }),
           py::arg("content"), py::arg("name"), py::arg("settings") = Settings())
      .def_static(
          "from_json",
          [](const std::string& json, const std::string& name) {
            return std::const_pointer_cast<Program>(FromJson(json, name));
          },
          py::arg("json"), py::arg("name"))
      .def_static(
          "binary_of_json",
          [](const std::string& json, const std::string& name) {
            return py::bytes(WithoutLines(json, name)->ToBinary());
          },
          py::arg("json"), py::arg("name"))
      .def_property_readonly("name", &Program::name)
      .def("to_text", &Program::ToText)
      .def("to_binary", [](const Program& program) { return py::bytes(program.ToBinary()); })
      .def("to_json", &ToJson)
      .def(
          "check",
          [](const Program& program, const std::string& role,
             const std::vector<const Program*>& before) {
            CheckContext context;
            context.role = role == "startup" ? ProgramRole::kStartup : ProgramRole::kMain;
            context.before = before;
            program.CheckOrThrow(context);
          },
          py::arg("role"), py::arg("before") = std::vector<const Program*>())
      .def("warnings", [](const Program& program) {
        std::vector<std::string> texts;
        for (Problem& warning : program.Warnings()) texts.push_back(std::move(warning.text));
        return texts;
      });
}

}  // namespace millhopper
