// SPDX-License-Identifier: Apache-2.0
// The schemas and the registry of operators, and the context in which an operator runs.
#include "framework/program/operator.h"

#include <algorithm>
#include <map>
#include <utility>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "framework/base/registration.h"
#include "framework/program/bound_operator.h"
#include "framework/program/executor.h"
#include "framework/program/infer_context.h"
#include "framework/program/operator_run.h"
#include "framework/program/program.h"
#include "framework/program/run_state.h"
#include "framework/program/scope.h"
#include "framework/tensor/rows.h"
#include "framework/tensor/tensor.h"

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

ParameterSchema MakeParameter(std::string name, std::string text, bool optional, bool list) {
  ParameterSchema parameter;
  parameter.name = std::move(name);
  parameter.doc = std::move(text);
  parameter.optional = optional;
  parameter.list = list;
  return parameter;
}

// The functions that RegisterReaderVariables was given.
struct ReaderVariables {
  HeldReader (*look)(const Variable&) = nullptr;
  const std::vector<SlotSpec>& (*slots)(const Variable&) = nullptr;
};

ReaderVariables& RegisteredReaderVariables() {
  static ReaderVariables registered;
  return registered;
}

}  // namespace

bool RegisterReaderVariables(HeldReader (*look)(const Variable& variable),
                             const std::vector<SlotSpec>& (*slots)(const Variable& variable)) {
  RegisteredReaderVariables() = {look, slots};
  return true;
}

HeldReader LookForReader(const Variable& variable) {
  const ReaderVariables& registered = RegisteredReaderVariables();
  return registered.look == nullptr ? HeldReader::kNone : registered.look(variable);
}

const std::vector<SlotSpec>& SlotsOfReader(const Variable& variable) {
  return RegisteredReaderVariables().slots(variable);
}

OpSchema::OpSchema(std::string text) : doc(std::move(text)) {}
OpSchema::OpSchema(const OpSchema&) = default;
OpSchema& OpSchema::operator=(const OpSchema&) = default;
OpSchema::OpSchema(OpSchema&&) noexcept = default;
OpSchema& OpSchema::operator=(OpSchema&&) noexcept = default;
OpSchema::~OpSchema() = default;

OpSchema& OpSchema::Input(std::string name, std::string text) {
  inputs.push_back(MakeParameter(std::move(name), std::move(text), false, false));
  last_is_input_ = true;
  return *this;
}

OpSchema& OpSchema::OptionalInput(std::string name, std::string text) {
  inputs.push_back(MakeParameter(std::move(name), std::move(text), true, false));
  last_is_input_ = true;
  return *this;
}

OpSchema& OpSchema::Inputs(std::string name, std::string text) {
  inputs.push_back(MakeParameter(std::move(name), std::move(text), true, true));
  last_is_input_ = true;
  return *this;
}

OpSchema& OpSchema::Output(std::string name, std::string text) {
  outputs.push_back(MakeParameter(std::move(name), std::move(text), false, false));
  last_is_input_ = false;
  return *this;
}

OpSchema& OpSchema::OptionalOutput(std::string name, std::string text) {
  outputs.push_back(MakeParameter(std::move(name), std::move(text), true, false));
  last_is_input_ = false;
  return *this;
}

OpSchema& OpSchema::Outputs(std::string name, std::string text) {
  outputs.push_back(MakeParameter(std::move(name), std::move(text), true, true));
  last_is_input_ = false;
  return *this;
}

ParameterSchema& OpSchema::LastParameter() {
  std::vector<ParameterSchema>& parameters = last_is_input_ ? inputs : outputs;
  if (parameters.empty()) Throw(ErrorCode::kInternal, "a schema names the kind of no parameter");
  return parameters.back();
}

OpSchema& OpSchema::OneOrMore() {
  LastParameter().optional = false;
  return *this;
}

OpSchema& OpSchema::Reader() {
  LastParameter().kind = VariableKind::kReader;
  return *this;
}

OpSchema& OpSchema::AnyKind() {
  LastParameter().kind = VariableKind::kAny;
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

OpSchema& OpSchema::Infer(std::function<void(InferContext&)> rule) {
  infer = std::move(rule);
  return *this;
}

OpSchema& OpSchema::MoreAttrs(
    std::function<std::vector<AttributeSchema>(const proto::OpDesc& op)> f) {
  more_attributes = std::move(f);
  return *this;
}

OpSchema& OpSchema::Explain(
    std::function<std::vector<std::string>(const Program& program, int block, int op)> f) {
  explain = std::move(f);
  return *this;
}

OpSchema& OpSchema::Rewrite(
    std::function<std::optional<OperatorRun>(const Program& program, int block, int op,
                                             const std::vector<std::string>& sinks)>
        f) {
  rewrite = std::move(f);
  return *this;
}

OpSchema& OpSchema::FedByProcess(std::vector<std::string> numbers) {
  fed_by_process = true;
  process_numbers = std::move(numbers);
  return *this;
}

OpSchema& OpSchema::DependsOn(std::function<std::string(const AttributeMap&)> f) {
  depends_on = std::move(f);
  return *this;
}

OpSchema& OpSchema::Composes(Composition how) {
  composition = how;
  return *this;
}

OpSchema& OpSchema::LaneWise(std::function<bool(const AttributeMap&, bool)> f) {
  lane_wise = f ? std::move(f) : [](const AttributeMap&, bool) { return true; };
  return *this;
}

OpSchema& OpSchema::ByElement() {
  by_element = true;
  return LaneWise();
}

OpSchema& OpSchema::AddsSlots(std::function<std::vector<std::string>(const AttributeMap&)> f) {
  adds_slots = std::move(f);
  return *this;
}

OpSchema& OpSchema::Order(std::function<PassOrder(const AttributeMap&)> f) {
  order = std::move(f);
  return *this;
}

OpSchema& OpSchema::Warn(std::function<std::string(const Program&, int, int)> f) {
  warn = std::move(f);
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
  NoteRegistration([] { Lookups().pop_back(); });  // undone in reverse order: it is the last then
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

void OpContext::ThrowNoParameter(std::string_view name) const {
  Throw(ErrorCode::kInternal, "the schema of '", type(), "' declares no such parameter '", name,
        "'");
}

void OpContext::ThrowNoArgument(const std::vector<Parameter>& parameters,
                                const Parameter& parameter, size_t i) const {
  Throw(ErrorCode::kInvalidArgument, &parameters == &inputs_ ? "input '" : "output '",
        parameter.schema->name, "' has ", parameter.arguments.size(), " arguments; number ", i,
        " is wanted");
}

void OpContext::ThrowNoAttribute(std::string_view name) const {
  Throw(ErrorCode::kInternal, "the schema of '", type(), "' declares no such attribute '", name,
        "'");
}

void OpContext::ThrowNoTensor(std::string_view parameter, const Variable& variable) {
  try {
    variable.Get<LoDTensor>();
  } catch (const Error& error) {
    Throw(error.code(), "input '", parameter, "': ", error.message());
  }
  Throw(ErrorCode::kInternal, "input '", parameter, "' holds a tensor after all");
}

OpContext::OpContext() : bound_(std::make_unique<Bound>()) {}

OpContext::~OpContext() = default;

OpContext::BoundArgument OpContext::Bind(Variable* variable) {
  return {variable, &variable->tensor_, &variable->holds_tensor_};
}

LoDTensor* OpContext::MakeTensor(Variable* variable) { return variable->GetMutable<LoDTensor>(); }

template <typename T>
const T& OpContext::ValueOf(std::string_view name, const void* attribute) {
  const T* value = std::get_if<T>(static_cast<const Attribute*>(attribute));
  if (__builtin_expect(value == nullptr, 0)) {
    Throw(ErrorCode::kInternal, "attribute '", name, "' is of another type");
  }
  return *value;
}

// One instantiation for each type of attribute.
template const int32_t& OpContext::ValueOf(std::string_view, const void*);
template const int64_t& OpContext::ValueOf(std::string_view, const void*);
template const float& OpContext::ValueOf(std::string_view, const void*);
template const double& OpContext::ValueOf(std::string_view, const void*);
template const bool& OpContext::ValueOf(std::string_view, const void*);
template const std::string& OpContext::ValueOf(std::string_view, const void*);
template const BlockIndex& OpContext::ValueOf(std::string_view, const void*);
template const std::vector<int32_t>& OpContext::ValueOf(std::string_view, const void*);
template const std::vector<int64_t>& OpContext::ValueOf(std::string_view, const void*);
template const std::vector<float>& OpContext::ValueOf(std::string_view, const void*);
template const std::vector<double>& OpContext::ValueOf(std::string_view, const void*);
template const std::vector<bool>& OpContext::ValueOf(std::string_view, const void*);
template const std::vector<std::string>& OpContext::ValueOf(std::string_view, const void*);
template const std::vector<BlockIndex>& OpContext::ValueOf(std::string_view, const void*);

const AttributeMap& OpContext::attributes() const { return bound_->attribute_map; }

bool OpContext::IsGiven(std::string_view attribute) const {
  return std::any_of(desc().attrs().begin(), desc().attrs().end(),
                     [&](const proto::OpDesc::Attr& given) { return given.name() == attribute; });
}

PreparedBlock& OpContext::Block(std::string_view attribute) {
  for (const auto& [name, block] : bound_->blocks) {
    if (name == attribute) return *block;
  }
  Throw(ErrorCode::kInternal, "operator '", type(), "' has no block '", attribute, "'");
}

const std::string& OpContext::type() const { return desc().type(); }

std::string OpContext::Location() const {
  std::string place =
      StrCat("(", type(), ", ", program()->OperatorLocation(bound_->block, bound_->index), ")");
  for (const Parameter& parameter : outputs_) {
    if (!parameter.arguments.empty()) {
      return StrCat("'", Escaped(parameter.arguments[0].variable->name()), "' ", place);
    }
  }
  return place;
}

const proto::VarDesc* OpContext::OutDesc(std::string_view parameter, size_t i) const {
  return program()->FindDeclaration(bound_->block,
                                    Argument(outputs_, parameter, i).variable->name());
}

const proto::OpDesc& OpContext::desc() const { return *bound_->desc; }

const std::shared_ptr<const Program>& OpContext::program() const { return *bound_->program; }

Scope& OpContext::scope() { return *bound_->scope; }

RunState& OpContext::run() { return *bound_->run; }

}  // namespace millhopper
