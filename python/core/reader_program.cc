// SPDX-License-Identifier: Apache-2.0
#include "python/core/reader_program.h"

#include <pybind11/stl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/program/declarations.h"
#include "framework/program/inference.h"
#include "framework/program/program.h"
#include "operators/readers/support/default_lanes.h"
#include "operators/readers/support/slot_declaration.h"
#include "python/core/values/slots.h"

namespace py = pybind11;

namespace millhopper {
namespace {

// The name of a parameter, and of its variables.
using Argument = std::pair<std::string, std::vector<std::string>>;
// The name of an attribute, its type as framework.proto names it, and its value, which is of that
// type. A block is its number.
using TypedAttribute = std::tuple<std::string, std::string, py::object>;

constexpr char kOut[] = "Out";  // the output of operators that create readers

Attribute AttributeOf(const std::string& name, const py::object& value) {
  proto::AttrType type = proto::INT;
  Require(proto::AttrType_Parse(name, &type), "no type of attributes is called ", Escaped(name));
  switch (type) {
    case proto::INT:
      return value.cast<int32_t>();
    case proto::LONG:
      return value.cast<int64_t>();
    case proto::FLOAT:
      return value.cast<float>();
    case proto::FLOAT64:
      return value.cast<double>();
    case proto::BOOLEAN:
      return value.cast<bool>();
    case proto::STRING:
      return value.cast<std::string>();
    case proto::BLOCK:
      return BlockIndex{value.cast<int32_t>()};
    case proto::INTS:
      return value.cast<std::vector<int32_t>>();
    case proto::LONGS:
      return value.cast<std::vector<int64_t>>();
    case proto::FLOATS:
      return value.cast<std::vector<float>>();
    case proto::FLOAT64S:
      return value.cast<std::vector<double>>();
    case proto::BOOLEANS:
      return value.cast<std::vector<bool>>();
    case proto::STRINGS:
      return value.cast<std::vector<std::string>>();
    case proto::BLOCKS:
    case proto::VAR:
    case proto::VARS:
      break;
  }
  Throw(ErrorCode::kInvalidArgument, "no operator that creates a reader has attributes of type ",
        name);
}

// What the rule of the operator tells of the reader's slots, if it tells all of it; empty
// otherwise.
std::vector<SlotSpec> InferredSlots(const Program& program, const proto::OpDesc& op) {
  const auto find = [&program](int block, const std::string& name) {
    const proto::VarDesc* const declared = program.FindDeclaration(block, name);
    return declared == nullptr ? VariableSpec() : SpecOfDeclaration(*declared);
  };
  // Operators of an inner block have been appended, so what they write is declared.
  const auto run_block = [&](BlockIndex inner, const auto&, const auto&,
                             const std::vector<std::string>& sinks) {
    Require(inner.value > 0 && inner.value < program.desc().blocks_size(), "there is no block ",
            inner.value, " within block 0");
    std::vector<TensorSpec> specs;
    specs.reserve(sinks.size());
    for (const std::string& name : sinks) specs.push_back(find(inner.value, name).tensor);
    return specs;
  };
  const InferContext::Arguments outputs = InferOutputs(
      op, [&find](const std::string& name) { return find(0, name); }, run_block);
  const auto made = outputs.find(kOut);
  if (made == outputs.end() || !made->second.at(0).spec.slots) return {};
  std::vector<SlotSpec> slots;
  for (const TensorSpec& slot : *made->second.at(0).spec.slots) {
    if (!slot.dtype || !slot.dims) return {};
    slots.push_back({*slot.dtype, *slot.dims, slot.lod_level.value_or(0)});
  }
  return slots;
}

// The program with a reader more in block 0, and with the operator that creates it from `inputs`,
// whose arguments have been checked. Its slots are declared as they are given, or else as the
// operator tells them. Errors call the program `title`.
std::shared_ptr<Program> AppendReader(const Program& program, const std::string& title,
                                      const std::string& type, const std::string& name,
                                      const std::vector<Argument>& inputs,
                                      const std::vector<TypedAttribute>& attributes,
                                      const std::vector<Slot>& slots) {
  Require(program.FindOwnDeclaration(0, name) == nullptr, title, ": ", type,
          ": there is a variable '", Escaped(name), "' already; give another name");
  proto::OpDesc op;
  op.set_type(type);
  for (const auto& [parameter, variables] : inputs) {
    proto::OpDesc::Var* const input = op.add_inputs();
    input->set_parameter(parameter);
    for (const std::string& variable : variables) input->add_arguments(variable);
  }
  proto::OpDesc::Var* const output = op.add_outputs();
  output->set_parameter(kOut);
  output->add_arguments(name);
  for (const auto& [attribute, kind, value] : attributes) {
    ToProto(attribute, AttributeOf(kind, value), op.add_attrs());
  }
  std::vector<SlotSpec> told;
  try {
    told = InferredSlots(program, op);
  } catch (const Error& error) {
    Throw(error.code(), title, ": operator '", Escaped(type), "': ", error.message());
  }
  proto::ProgramDesc appended = program.desc();
  proto::VarDesc* const reader = appended.mutable_blocks(0)->add_vars();
  reader->set_name(name);
  reader->set_persistable(true);
  reader->set_stop_gradient(true);
  DeclareSlots(slots.empty() ? told : SpecsOf(slots), reader);
  *appended.mutable_blocks(0)->add_ops() = std::move(op);
  return std::const_pointer_cast<Program>(
      Program::FromString(appended.SerializePartialAsString(), title));
}

// The program that says how many lanes its sources have; none if it is the same one.
std::shared_ptr<Program> WithLanes(const Program& program, const std::string& title,
                                   const std::vector<std::string>& sources, size_t lanes,
                                   bool shares_batches) {
  proto::ProgramDesc stated = program.desc();
  if (!StateLanes(sources, lanes, shares_batches, &stated)) return nullptr;
  return std::const_pointer_cast<Program>(
      Program::FromString(stated.SerializePartialAsString(), title));
}

}  // namespace

void DefineReaderPrograms(py::module_* module) {
  module->attr("default_lanes") = kDefaultLanes;
  module->def("append_reader", &AppendReader, py::arg("program"), py::arg("title"),
              py::arg("operator"), py::arg("name"), py::arg("inputs"), py::arg("attributes"),
              py::arg("slots"));
  module->def("state_lanes", &WithLanes, py::arg("program"), py::arg("title"), py::arg("sources"),
              py::arg("lanes"), py::arg("shares_batches"));
}

}  // namespace millhopper
