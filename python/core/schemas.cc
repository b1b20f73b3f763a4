// SPDX-License-Identifier: Apache-2.0
#include "python/core/schemas.h"

#include <pybind11/stl.h>

#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "framework/base/error.h"
#include "framework/program/operator.h"
#include "framework/reader/file_format.h"
#include "proto/framework.pb.h"

namespace py = pybind11;

namespace millhopper {

py::object AttributeToPython(const Attribute& attribute) {
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

namespace {

py::dict Describe(const ParameterSchema& parameter) {
  const char* kinds[] = {"tensor", "reader", "any"};
  py::dict result;
  result["name"] = parameter.name;
  result["doc"] = parameter.doc;
  result["kind"] = kinds[static_cast<int>(parameter.kind)];
  result["optional"] = parameter.optional;
  result["list"] = parameter.list;
  return result;
}

py::dict Describe(const AttributeSchema& attribute) {
  py::dict result;
  result["name"] = attribute.name;
  result["type"] = AttributeTypeName(attribute.default_value);
  result["default"] = attribute.optional ? py::none() : AttributeToPython(attribute.default_value);
  result["required"] = attribute.required;
  result["optional"] = attribute.optional;
  result["doc"] = attribute.doc;
  result["words"] = attribute.words;
  result["lowest"] = attribute.lowest;
  result["numbers_slots"] = attribute.numbers_slots;
  result["python_name"] = attribute.python_name;
  return result;
}

template <typename T>
py::list DescribeAll(const std::vector<T>& items) {
  py::list result;
  for (const T& item : items) result.append(Describe(item));
  return result;
}

// None if there is no such operator.
py::object OperatorSchema(const std::string& type) {
  const OperatorDef* const def = FindOperator(type);
  if (def == nullptr) return py::none();
  const OpSchema& schema = def->schema;
  py::dict op;
  op["type"] = type;
  op["doc"] = schema.doc;
  op["inputs"] = DescribeAll(schema.inputs);
  op["outputs"] = DescribeAll(schema.outputs);
  op["attributes"] = DescribeAll(schema.attributes);
  op["creates_reader"] = schema.creates_reader;
  op["side_effects"] = schema.side_effects;
  op["fed_by_process"] = schema.fed_by_process;
  op["adds_slots"] = schema.adds_slots != nullptr;
  return op;
}

// The attributes that an operator may have besides those of its schema. They depend on the lists of
// texts that it is given, such as file names: these decide which formats the files may have.
py::list MoreAttributes(const std::string& type,
                        const std::map<std::string, std::vector<std::string>>& given) {
  const OperatorDef* const def = FindOperator(type);
  if (def == nullptr || !def->schema.more_attributes) return py::list();
  proto::OpDesc op;
  op.set_type(type);
  for (const auto& [name, texts] : given) {
    proto::OpDesc::Attr* const attribute = op.add_attrs();
    attribute->set_name(name);
    for (const std::string& text : texts) attribute->add_strings(text);
  }
  return DescribeAll(def->schema.more_attributes(op));
}

py::list FormatSchemas() {
  py::list result;
  for (const std::string& tag : FileFormatTags()) {
    const FormatSchema& schema = *FindFileFormat(tag);
    py::dict format;
    format["tag"] = tag;
    format["doc"] = schema.doc;
    format["extensions"] = schema.extensions;
    format["reads_folders"] = schema.reads_folders;
    format["known_by_content"] = schema.matches != nullptr;
    format["attributes"] = DescribeAll(schema.attributes);
    format["companion"] =
        py::make_tuple(schema.companion_name, schema.companion_list_name, schema.companion_doc);
    result.append(format);
  }
  return result;
}

// The exit codes of Millhopper's commands, by kind of error.
py::dict ExitCodes() {
  py::dict codes;
  for (const ErrorCode code : {ErrorCode::kInvalidArgument, ErrorCode::kDataLoss, ErrorCode::kIo,
                               ErrorCode::kResourceLimit, ErrorCode::kPlugin, ErrorCode::kInternal,
                               ErrorCode::kCancelled}) {
    codes[ToString(code)] = static_cast<int>(code);
  }
  return codes;
}

}  // namespace

void DefineSchemas(py::module_* module) {
  module->attr("exit_codes") = ExitCodes();
  module->def("operator_types", &OperatorTypes);
  module->def("operator_schema", &OperatorSchema, py::arg("type"));
  module->def("format_schemas", &FormatSchemas);
  module->def("more_attributes", &MoreAttributes, py::arg("type"), py::arg("given"));
}

}  // namespace millhopper
