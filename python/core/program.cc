// SPDX-License-Identifier: Apache-2.0
#include "python/core/program.h"

#include <google/protobuf/util/json_util.h>
#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "framework/error.h"
#include "framework/operator.h"
#include "framework/program.h"

namespace py = pybind11;

namespace millrace {
namespace {

using google::protobuf::util::JsonParseOptions;
using google::protobuf::util::JsonPrintOptions;
using google::protobuf::util::JsonStringToMessage;
using google::protobuf::util::MessageToJsonString;

// Through the text, so that errors name lines: those of to_text().
std::shared_ptr<const Program> FromJson(const std::string& json, const std::string& name) {
  proto::ProgramDesc desc;
  const auto status = JsonStringToMessage(json, &desc, JsonParseOptions());
  Require(status.ok(), name, ": ", status.ToString());
  const auto program = Program::FromString(desc.SerializePartialAsString(), name);
  return Program::FromString(program->ToText(), name);
}

std::string ToJson(const Program& program) {
  JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string json;
  const auto status = MessageToJsonString(program.desc(), &json, options);
  Require(status.ok(), program.name(), ": ", status.ToString());
  return json;
}

py::object ToPython(const Attribute& attribute) {
  return std::visit(
      [](const auto& value) -> py::object {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, BlockIndex>) {
          return py::none();
        } else if constexpr (std::is_same_v<Value, std::vector<BlockIndex>>) {
          return py::list();
        } else {
          return py::cast(value);
        }
      },
      attribute);
}

py::dict Describe(const SlotSchema& slot) {
  const char* kinds[] = {"tensor", "reader", "any"};
  py::dict result;
  result["name"] = slot.name;
  result["doc"] = slot.doc;
  result["kind"] = kinds[static_cast<int>(slot.kind)];
  result["optional"] = slot.optional;
  result["list"] = slot.list;
  return result;
}

py::dict Describe(const AttributeSchema& attribute) {
  py::dict result;
  result["name"] = attribute.name;
  result["type"] = AttributeTypeName(attribute.default_value);
  result["default"] = ToPython(attribute.default_value);
  result["required"] = attribute.required;
  result["doc"] = attribute.doc;
  result["words"] = attribute.words;
  result["lowest"] = attribute.lowest;
  return result;
}

template <typename T>
py::list DescribeAll(const std::vector<T>& items) {
  py::list result;
  for (const T& item : items) result.append(Describe(item));
  return result;
}

py::list OperatorSchemas() {
  py::list result;
  for (const std::string& type : OperatorTypes()) {
    const OpSchema& schema = FindOperator(type)->schema;
    py::dict op;
    op["type"] = type;
    op["doc"] = schema.doc;
    op["inputs"] = DescribeAll(schema.inputs);
    op["outputs"] = DescribeAll(schema.outputs);
    op["attributes"] = DescribeAll(schema.attributes);
    op["creates_reader"] = schema.creates_reader;
    op["side_effects"] = schema.side_effects;
    result.append(op);
  }
  return result;
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
      .def_property_readonly("name", &Program::name)
      .def("to_text", &Program::ToText)
      .def("to_binary", [](const Program& program) { return py::bytes(program.ToBinary()); })
      .def("to_json", &ToJson)
      .def(
          "check",
          [](const Program& program, const std::string& role) {
            CheckContext context;
            context.role = role == "startup" ? ProgramRole::kStartup : ProgramRole::kMain;
            program.CheckOrThrow(context);
          },
          py::arg("role"));
  module->def("operator_schemas", &OperatorSchemas);
}

}  // namespace millrace
