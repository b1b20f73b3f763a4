// SPDX-License-Identifier: Apache-2.0
// Schemas and the registry of operators, and what an operator sees while it runs.
#include "framework/program/operator.h"

#include <algorithm>
#include <map>
#include <utility>

#include "framework/base/registration.h"
#include "framework/program/executor.h"
#include "framework/program/program.h"
#include "framework/tensor/rows.h"

namespace millhopper {
namespace {

std::map<std::string, OperatorDef>& Registry() {
  static auto* registry = new std::map<std::string, OperatorDef>;
  return *registry;
}

std::vector<OperatorLookup>& Lookups() {
  static auto* lookups = new std::vector<OperatorLookup>;
  return *lookups;
}

SlotSchema MakeSlot(std::string name, std::string text, bool optional, bool list) {
  SlotSchema slot;
  slot.name = std::move(name);
  slot.doc = std::move(text);
  slot.optional = optional;
  slot.list = list;
  return slot;
}

template <typename T, typename Field>
std::vector<T> ToVector(const Field& field) {
  return std::vector<T>(field.begin(), field.end());
}

HeldReader (*&ReaderVariables())(const Variable&) {
  static HeldReader (*look)(const Variable&) = nullptr;
  return look;
}

}  // namespace

bool RegisterReaderVariables(HeldReader (*look)(const Variable& variable)) {
  ReaderVariables() = look;
  return true;
}

HeldReader LookForReader(const Variable& variable) {
  return ReaderVariables() == nullptr ? HeldReader::kNone : ReaderVariables()(variable);
}

OpSchema& OpSchema::Input(std::string name, std::string text) {
  inputs.push_back(MakeSlot(std::move(name), std::move(text), false, false));
  last_slot_is_input_ = true;
  return *this;
}

OpSchema& OpSchema::OptionalInput(std::string name, std::string text) {
  inputs.push_back(MakeSlot(std::move(name), std::move(text), true, false));
  last_slot_is_input_ = true;
  return *this;
}

OpSchema& OpSchema::Inputs(std::string name, std::string text) {
  inputs.push_back(MakeSlot(std::move(name), std::move(text), true, true));
  last_slot_is_input_ = true;
  return *this;
}

OpSchema& OpSchema::Output(std::string name, std::string text) {
  outputs.push_back(MakeSlot(std::move(name), std::move(text), false, false));
  last_slot_is_input_ = false;
  return *this;
}

OpSchema& OpSchema::OptionalOutput(std::string name, std::string text) {
  outputs.push_back(MakeSlot(std::move(name), std::move(text), true, false));
  last_slot_is_input_ = false;
  return *this;
}

OpSchema& OpSchema::Outputs(std::string name, std::string text) {
  outputs.push_back(MakeSlot(std::move(name), std::move(text), true, true));
  last_slot_is_input_ = false;
  return *this;
}

SlotSchema& OpSchema::LastSlot() {
  std::vector<SlotSchema>& slots = last_slot_is_input_ ? inputs : outputs;
  if (slots.empty()) Throw(ErrorCode::kInternal, "a schema names the kind of no slot");
  return slots.back();
}

OpSchema& OpSchema::Reader() {
  LastSlot().kind = VariableKind::kReader;
  return *this;
}

OpSchema& OpSchema::AnyKind() {
  LastSlot().kind = VariableKind::kAny;
  return *this;
}

OpSchema& OpSchema::Attr(AttributeSchema attribute) {
  attributes.push_back(std::move(attribute));
  return *this;
}

OpSchema& OpSchema::SideEffects() {
  side_effects = true;
  return *this;
}

OpSchema& OpSchema::CreatesReader() {
  creates_reader = true;
  return *this;
}

OpSchema& OpSchema::IsolatedBlock(std::string name) {
  isolated_blocks.push_back(std::move(name));
  return *this;
}

OpSchema& OpSchema::LoopBlock(std::string name) {
  loop_blocks.push_back(std::move(name));
  return *this;
}

OpSchema& OpSchema::Check(std::function<void(const proto::OpDesc&, const AttributeMap&)> f) {
  check = std::move(f);
  return *this;
}

OpSchema& OpSchema::MoreAttrs(
    std::function<std::vector<AttributeSchema>(const proto::OpDesc& op)> f) {
  more_attributes = std::move(f);
  return *this;
}

bool RegisterOperator(const std::string& type, OpSchema schema, OpFunction run) {
  const bool added = Registry().emplace(type, OperatorDef{type, std::move(schema), run}).second;
  if (added) {
    NoteRegistration([type] { Registry().erase(type); });
  } else {
    RefuseRegistration("operator '" + type + "'");
  }
  return added;
}

bool RegisterOperatorLookup(OperatorLookup lookup) {
  Lookups().push_back(std::move(lookup));
  NoteRegistration([] { Lookups().pop_back(); });  // undone in reverse order, so it is the last
  return true;
}

const OperatorDef* FindOperator(const std::string& type) {
  const auto found = Registry().find(type);
  if (found != Registry().end()) return &found->second;
  for (const OperatorLookup& lookup : Lookups()) {
    if (const OperatorDef* def = lookup.find(type)) return def;
  }
  return nullptr;
}

std::vector<std::string> OperatorTypes() {
  std::vector<std::string> types;
  for (const auto& entry : Registry()) types.push_back(entry.first);
  for (const OperatorLookup& lookup : Lookups()) {
    for (std::string& type : lookup.types()) types.push_back(std::move(type));
  }
  std::sort(types.begin(), types.end());
  types.erase(std::unique(types.begin(), types.end()), types.end());
  return types;
}

void OpContext::ThrowNoSlot(std::string_view name) const {
  Throw(ErrorCode::kInternal, "the schema of '", type(), "' declares no such slot '", name, "'");
}

void OpContext::ThrowNoArgument(const std::vector<Slot>& slots, const Slot& slot, size_t i) const {
  Throw(ErrorCode::kInvalidArgument, &slots == &inputs_ ? "input '" : "output '", slot.schema->name,
        "' has ", slot.variables.size(), " arguments; number ", i, " is wanted");
}

void OpContext::ThrowNoTensor(std::string_view slot, const Variable& variable) const {
  try {
    variable.Get<LoDTensor>();
  } catch (const Error& error) {
    Throw(error.code(), "input '", slot, "': ", error.message());
  }
  Throw(ErrorCode::kInternal, "input '", slot, "' holds a tensor after all");
}

void OpContext::ThrowNoAttribute(std::string_view name) const {
  Throw(ErrorCode::kInternal, "the schema of '", type(), "' declares no such attribute '", name,
        "'");
}

void OpContext::ThrowOtherType(std::string_view attribute) const {
  Throw(ErrorCode::kInternal, "attribute '", attribute, "' is of another type");
}

bool OpContext::IsGiven(std::string_view attribute) const {
  return std::any_of(desc_->attrs().begin(), desc_->attrs().end(),
                     [&](const proto::OpDesc::Attr& given) { return given.name() == attribute; });
}

PreparedBlock& OpContext::Block(std::string_view attribute) {
  for (const auto& [name, block] : blocks_) {
    if (name == attribute) return *block;
  }
  Throw(ErrorCode::kInternal, "operator '", type(), "' has no block '", attribute, "'");
}

const std::string& OpContext::type() const { return desc_->type(); }

std::string OpContext::Location() const {
  std::string place = StrCat("(", type(), ", ", program()->OperatorLocation(block_, index_), ")");
  for (const Slot& slot : outputs_) {
    if (!slot.variables.empty()) {
      return StrCat("'", Escaped(slot.variables[0]->name()), "' ", place);
    }
  }
  return place;
}

const proto::VarDesc* OpContext::OutDesc(std::string_view slot, size_t i) const {
  return program()->FindDeclaration(block_, Argument(outputs_, slot, i).name());
}

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

SlotSpec DeclaredTensor(const proto::VarType::LoDTensorDesc& declared) {
  const proto::VarType::TensorDesc& tensor = declared.tensor();
  Require(IsDataType(tensor.data_type()), "data_type ",
          proto::VarType::Type_Name(tensor.data_type()), " is not one of values");
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
