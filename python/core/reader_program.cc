// SPDX-License-Identifier: Apache-2.0
#include "python/core/reader_program.h"

#include <pybind11/stl.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "framework/program/operator.h"
#include "framework/program/program.h"

namespace py = pybind11;

namespace millhopper {
namespace {

using Attr = proto::OpDesc::Attr;

// The value as one of this type, unchanged: pybind11 would cut off what turns into an integer, and
// take whatever is not empty for true. Throws cast_error.
template <typename T>
T As(py::handle value) {
  if constexpr (std::is_same_v<T, bool>) {
    const auto number = As<int64_t>(value);
    if (number != 0 && number != 1) throw py::cast_error();
    return number == 1;
  } else if constexpr (std::is_integral_v<T>) {
    if (PyIndex_Check(value.ptr()) == 0) throw py::cast_error();
  } else if constexpr (std::is_same_v<T, float>) {
    const auto number = value.cast<double>();
    const auto narrow = static_cast<float>(number);
    if (std::isfinite(number) && !std::isfinite(narrow)) throw py::cast_error();
    return narrow;
  }
  return value.cast<T>();
}

// Sets the field that the declared type of the attribute belongs to.
struct SetField {
  py::handle value;
  Attr* attr;

  template <typename T>
  T As() const {
    return millhopper::As<T>(value);
  }
  template <typename T, typename List>
  void Fill(List* list) const {
    for (const py::object& item : value.cast<std::vector<py::object>>()) {
      *list->Add() = millhopper::As<T>(item);
    }
  }

  void operator()(int32_t) const { attr->set_i(As<int32_t>()); }
  void operator()(int64_t) const { attr->set_l(As<int64_t>()); }
  void operator()(float) const { attr->set_f(As<float>()); }
  void operator()(double) const { attr->set_float64(As<double>()); }
  void operator()(bool) const { attr->set_b(As<bool>()); }
  void operator()(const std::string&) const { attr->set_s(As<std::string>()); }
  void operator()(const std::vector<int32_t>&) const { Fill<int32_t>(attr->mutable_ints()); }
  void operator()(const std::vector<int64_t>&) const { Fill<int64_t>(attr->mutable_longs()); }
  void operator()(const std::vector<float>&) const { Fill<float>(attr->mutable_floats()); }
  void operator()(const std::vector<double>&) const { Fill<double>(attr->mutable_float64s()); }
  void operator()(const std::vector<bool>&) const { Fill<bool>(attr->mutable_bools()); }
  void operator()(const std::vector<std::string>&) const {
    Fill<std::string>(attr->mutable_strings());
  }
  void operator()(const BlockIndex&) const { throw py::cast_error(); }
  void operator()(const std::vector<BlockIndex>&) const { throw py::cast_error(); }
};

// What integers it holds, for whoever gave another one.
std::string RangeOf(const Attribute& attribute) {
  const auto range = [](auto value) {
    using Limits = std::numeric_limits<decltype(value)>;
    return StrCat("; its values are ", Limits::min(), " to ", Limits::max());
  };
  if (const auto* const value = std::get_if<int32_t>(&attribute)) return range(*value);
  if (const auto* const value = std::get_if<int64_t>(&attribute)) return range(*value);
  return "";
}

void SetAttribute(const AttributeSchema& schema, py::handle value, proto::OpDesc* op) {
  Attr* const attr = op->add_attrs();
  attr->set_name(schema.name);
  try {
    std::visit(SetField{value, attr}, schema.default_value);
  } catch (const py::cast_error&) {
    Throw(ErrorCode::kInvalidArgument, op->type(), ": attribute '", schema.name, "' is of type ",
          AttributeTypeName(schema.default_value), ", not ", py::repr(value).cast<std::string>(),
          PyLong_Check(value.ptr()) != 0 ? RangeOf(schema.default_value) : "");
  }
}

// The declared attribute of this name; null if there is none.
const AttributeSchema* Find(const std::vector<AttributeSchema>& schemas, const std::string& name) {
  for (const AttributeSchema& schema : schemas) {
    if (schema.name == name) return &schema;
  }
  return nullptr;
}

void SetAttributes(const OpSchema& schema, const py::dict& attributes, proto::OpDesc* op) {
  std::vector<std::pair<std::string, py::handle>> others;
  for (const auto& [key, value] : attributes) {
    if (value.is_none()) continue;
    const auto name = key.cast<std::string>();
    if (const AttributeSchema* const found = Find(schema.attributes, name)) {
      SetAttribute(*found, value, op);
    } else {
      others.emplace_back(name, value);
    }
  }
  // Those that exist because of the others, such as a format's.
  if (others.empty()) return;
  std::vector<AttributeSchema> all = schema.attributes;
  if (schema.more_attributes) {
    for (AttributeSchema& more : schema.more_attributes(*op)) all.push_back(std::move(more));
  }
  std::vector<std::string> names;
  names.reserve(all.size());
  for (const AttributeSchema& attribute : all) names.push_back(attribute.name);
  for (const auto& [name, value] : others) {
    const AttributeSchema* const found = Find(all, name);
    Require(found != nullptr, op->type(), ": no attribute '", Escaped(name), "'",
            DidYouMean(name, names));
    SetAttribute(*found, value, op);
  }
}

void DeclareReader(const std::string& name, const std::vector<SlotSpec>& slots,
                   proto::BlockDesc* block) {
  proto::VarDesc* const variable = block->add_vars();
  variable->set_name(name);
  variable->set_persistable(true);
  variable->mutable_type()->set_type(proto::VarType::READER);
  for (const SlotSpec& slot : slots) {
    proto::VarType::LoDTensorDesc* const desc =
        variable->mutable_type()->mutable_reader()->add_lod_tensor();
    desc->set_lod_level(slot.lod_level);
    desc->mutable_tensor()->set_data_type(static_cast<proto::VarType::Type>(slot.dtype));
    for (const int64_t dim : slot.dims) desc->mutable_tensor()->add_dims(dim);
  }
}

}  // namespace

py::bytes AddReader(const std::string& program, const std::string& type, const std::string& output,
                    const std::string& underlying, const std::vector<SlotSpec>& slots,
                    const py::dict& attributes) {
  proto::ProgramDesc desc;
  if (!program.empty()) desc = Program::FromString(program, "the program")->desc();
  if (desc.blocks_size() == 0) {
    proto::BlockDesc* const root = desc.add_blocks();
    root->set_idx(0);
    root->set_parent_idx(-1);
  }
  proto::BlockDesc* const block = desc.mutable_blocks(0);
  DeclareReader(output, slots, block);
  const OperatorDef* const def = FindOperator(type);
  Require(def != nullptr, "no operator '", Escaped(type), "'", DidYouMean(type, OperatorTypes()));
  proto::OpDesc* const op = block->add_ops();
  op->set_type(type);
  if (!underlying.empty()) {
    proto::OpDesc::Var* const input = op->add_inputs();
    input->set_parameter("UnderlyingReader");
    input->add_arguments(underlying);
  }
  proto::OpDesc::Var* const out = op->add_outputs();
  out->set_parameter("Out");
  out->add_arguments(output);
  SetAttributes(def->schema, attributes, op);
  return py::bytes(desc.SerializeAsString());
}

}  // namespace millhopper
