// SPDX-License-Identifier: Apache-2.0
#include "framework/program/declarations.h"

#include <string>
#include <variant>

#include "framework/base/error.h"
#include "framework/base/limits.h"

namespace millhopper {
namespace {

template <typename T, typename Field>
std::vector<T> ToVector(const Field& field) {
  return std::vector<T>(field.begin(), field.end());
}

// Each puts a value of its type into the field for it.
struct Putter {
  proto::OpDesc::Attr* to;

  void operator()(int32_t value) const { Type(proto::INT)->set_i(value); }
  void operator()(int64_t value) const { Type(proto::LONG)->set_l(value); }
  void operator()(float value) const { Type(proto::FLOAT)->set_f(value); }
  void operator()(double value) const { Type(proto::FLOAT64)->set_float64(value); }
  void operator()(bool value) const { Type(proto::BOOLEAN)->set_b(value); }
  void operator()(const std::string& value) const { Type(proto::STRING)->set_s(value); }
  void operator()(BlockIndex value) const { Type(proto::BLOCK)->set_block_idx(value.value); }
  void operator()(const std::vector<int32_t>& values) const {
    *Type(proto::INTS)->mutable_ints() = {values.begin(), values.end()};
  }
  void operator()(const std::vector<int64_t>& values) const {
    *Type(proto::LONGS)->mutable_longs() = {values.begin(), values.end()};
  }
  void operator()(const std::vector<float>& values) const {
    *Type(proto::FLOATS)->mutable_floats() = {values.begin(), values.end()};
  }
  void operator()(const std::vector<double>& values) const {
    *Type(proto::FLOAT64S)->mutable_float64s() = {values.begin(), values.end()};
  }
  void operator()(const std::vector<bool>& values) const {
    *Type(proto::BOOLEANS)->mutable_bools() = {values.begin(), values.end()};
  }
  void operator()(const std::vector<std::string>& values) const {
    *Type(proto::STRINGS)->mutable_strings() = {values.begin(), values.end()};
  }
  void operator()(const std::vector<BlockIndex>& values) const {
    Type(proto::BLOCKS);
    for (const BlockIndex& block : values) to->add_blocks_idx(block.value);
  }
  proto::OpDesc::Attr* Type(proto::AttrType type) const {
    to->set_type(type);
    return to;
  }
};

}  // namespace

Attribute FromProto(const proto::OpDesc::Attr& attribute) {
  switch (attribute.type()) {
    case proto::INT:
      return attribute.i();
    case proto::FLOAT:
      return attribute.f();
    case proto::STRING:
      return attribute.s();
    case proto::INTS:
      return ToVector<int32_t>(attribute.ints());
    case proto::FLOATS:
      return ToVector<float>(attribute.floats());
    case proto::STRINGS:
      return ToVector<std::string>(attribute.strings());
    case proto::BOOLEAN:
      return attribute.b();
    case proto::BOOLEANS:
      return ToVector<bool>(attribute.bools());
    case proto::BLOCK:
      return BlockIndex{attribute.block_idx()};
    case proto::LONG:
      return static_cast<int64_t>(attribute.l());
    case proto::BLOCKS: {
      std::vector<BlockIndex> blocks;
      for (const int32_t block : attribute.blocks_idx()) blocks.push_back(BlockIndex{block});
      return blocks;
    }
    case proto::LONGS:
      return ToVector<int64_t>(attribute.longs());
    case proto::FLOAT64S:
      return ToVector<double>(attribute.float64s());
    case proto::FLOAT64:
      return attribute.float64();
    case proto::VAR:
    case proto::VARS:
      break;
  }
  Throw(ErrorCode::kInvalidArgument, "attribute '", Escaped(attribute.name()), "' is ",
        proto::AttrType_Name(attribute.type()), ", which no operator here takes");
}

void ToProto(const std::string& name, const Attribute& value, proto::OpDesc::Attr* attribute) {
  attribute->set_name(name);
  std::visit(Putter{attribute}, value);
}

SlotSpec DeclaredTensor(const proto::VarType::LoDTensorDesc& declared) {
  const proto::VarType::TensorDesc& tensor = declared.tensor();
  Require(IsDataType(tensor.data_type()), "data_type ",
          proto::VarType::Type_Name(tensor.data_type()), " is not an element type of tensors");
  Require(static_cast<size_t>(tensor.dims_size()) <= kMaxRank, tensor.dims_size(),
          " dims; at most ", kMaxRank, " are possible");
  Require(declared.lod_level() >= 0 && static_cast<size_t>(declared.lod_level()) <= kMaxLodLevels,
          "lod_level is ", declared.lod_level(), "; it must be from 0 to ", kMaxLodLevels);
  SlotSpec spec;
  spec.dtype = DataTypeFromNumber(tensor.data_type());
  spec.dims = Dims(ToVector<int64_t>(tensor.dims()));
  spec.lod_level = declared.lod_level();
  for (size_t i = 0; i < spec.dims.size(); ++i) {
    Require(spec.dims[i] >= -1, "dim ", i, " is ", spec.dims[i], "; it must be -1 (any) or more");
  }
  return spec;
}

std::vector<SlotSpec> DeclaredSlots(const proto::VarDesc& variable) {
  std::vector<SlotSpec> slots;
  for (const auto& slot : variable.type().reader().lod_tensor()) {
    try {
      Require(slot.tensor().dims_size() > 0, "dims are missing");
      slots.push_back(DeclaredTensor(slot));
    } catch (const Error& error) {
      Throw(error.code(), "slot ", slots.size(), ": ", error.message());
    }
  }
  Require(slots.size() <= kMaxSlots, slots.size(), " slots; at most ", kMaxSlots, " are possible");
  return slots;
}

}  // namespace millhopper
