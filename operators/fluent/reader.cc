// SPDX-License-Identifier: Apache-2.0
#include "operators/fluent/reader.h"

#include <set>
#include <string_view>

#include "framework/base/error.h"
#include "framework/program/declarations.h"
#include "framework/program/executor.h"
#include "framework/program/operator.h"
#include "framework/program/program.h"
#include "framework/reader/file_format.h"
#include "operators/readers/support/default_lanes.h"
#include "operators/readers/support/slot_declaration.h"
#include "proto/framework.pb.h"
#include "readers/fields/fields.h"

namespace millhopper {

// A creation operator.
struct Reader::Node {
  // The operator of a block that is run for each element of `slots` slots.
  struct Step {
    std::string type, input, output;
    std::vector<size_t> takes;  // slots
    // Where what it makes goes: in the place of the one slot that it takes, or alone to a filter.
    bool alone;
    size_t slots;
    Attributes attributes;
  };

  std::string type;
  std::vector<Reader> below;
  Attributes attributes;
  std::vector<SlotSpec> slots;  // that are declared
  std::string name;
  std::optional<Step> step;  // of create_custom_reader and create_filter_reader

  // Adds the operators of this chain to block 0 and returns the name of the reader on top, which
  // has a number if another reader has its name already.
  std::string AppendTo(proto::ProgramDesc* program, std::set<std::string>* taken) const;
  // Adds the block that runs the step for the reader `own`, and what its operator says of the
  // block.
  void AppendStep(const std::string& own, proto::OpDesc* reader, proto::ProgramDesc* program) const;
  // As the fields of the files tell them; empty if none do. A step keeps the names.
  std::vector<std::string> SlotNames() const;
  // The program, and the name of the reader on top.
  std::pair<std::shared_ptr<const Program>, std::string> MakeProgram() const;
};

namespace {

// "padded_batch" of create_padded_batch_reader.
std::string Short(std::string_view type) {
  constexpr std::string_view kCreate = "create_", kReader = "_reader";
  if (type.substr(0, kCreate.size()) == kCreate) type.remove_prefix(kCreate.size());
  if (type.size() > kReader.size() && type.substr(type.size() - kReader.size()) == kReader) {
    type.remove_suffix(kReader.size());
  }
  return std::string(type);
}

void AddArgument(const std::string& parameter, const std::vector<std::string>& names,
                 google::protobuf::RepeatedPtrField<proto::OpDesc::Var>* to) {
  proto::OpDesc::Var* const added = to->Add();
  added->set_parameter(parameter);
  for (const std::string& name : names) added->add_arguments(name);
}

void AddAttributes(const Reader::Attributes& attributes, proto::OpDesc* op) {
  for (const auto& [name, value] : attributes) ToProto(name, value, op->add_attrs());
}

proto::BlockDesc* AddBlock(int parent, proto::ProgramDesc* program) {
  const int index = program->blocks_size();
  proto::BlockDesc* const block = program->add_blocks();
  block->set_idx(index);
  block->set_parent_idx(parent);
  return block;
}

}  // namespace

void Reader::Node::AppendStep(const std::string& own, proto::OpDesc* reader,
                              proto::ProgramDesc* program) const {
  proto::BlockDesc* const block = AddBlock(0, program);
  const auto variable = [&](const std::string& suffix) {
    proto::VarDesc* const added = block->add_vars();
    added->set_name(StrCat(own, ":", suffix));
    added->mutable_type()->set_type(proto::VarType::LOD_TENSOR);
    return added->name();
  };
  std::vector<std::string> sources;
  for (size_t i = 0; i < step->slots; ++i) sources.push_back(variable(StrCat("slot", i)));
  std::vector<std::string> taken;
  for (const size_t slot : step->takes) taken.push_back(sources[slot]);
  const std::string made = variable(step->output);
  proto::OpDesc* const op = block->add_ops();
  op->set_type(step->type);
  AddArgument(step->input, taken, op->mutable_inputs());
  AddArgument(step->output, {made}, op->mutable_outputs());
  AddAttributes(step->attributes, op);
  std::vector<std::string> sinks = {made};
  if (!step->alone) {
    sinks = sources;
    sinks[step->takes[0]] = made;
  }
  AddAttributes({{"sub_block", BlockIndex(block->idx())},
                 {"source_var_names", sources},
                 {"sink_var_names", sinks}},
                reader);
}

std::string Reader::Node::AppendTo(proto::ProgramDesc* program,
                                   std::set<std::string>* taken) const {
  std::vector<std::string> arguments;
  for (const Reader& reader : below) arguments.push_back(reader.node_->AppendTo(program, taken));
  std::string own = name;
  for (int number = 2; !taken->insert(own).second; ++number) own = StrCat(name, "_", number);
  proto::VarDesc* const variable = program->mutable_blocks(0)->add_vars();
  variable->set_name(own);
  variable->set_persistable(true);
  DeclareSlots(slots, variable);
  proto::OpDesc op;
  op.set_type(type);
  if (!arguments.empty()) {
    // An operator that there is not is an error of the program.
    const OperatorDef* const def = FindOperator(type);
    const bool known = def != nullptr && !def->schema.inputs.empty();
    AddArgument(known ? def->schema.inputs[0].name : "UnderlyingReader", arguments,
                op.mutable_inputs());
  }
  AddArgument("Out", {own}, op.mutable_outputs());
  AddAttributes(attributes, &op);
  if (step) AppendStep(own, &op, program);
  *program->mutable_blocks(0)->add_ops() = std::move(op);
  return own;
}

std::pair<std::shared_ptr<const Program>, std::string> Reader::Node::MakeProgram() const {
  proto::ProgramDesc program;
  AddBlock(-1, &program);
  std::set<std::string> taken;
  const std::string top = AppendTo(&program, &taken);
  StateLanes({taken.begin(), taken.end()}, kDefaultLanes, false, &program);
  return {Program::FromString(program.SerializeAsString(), "startup program"), top};
}

Reader Reader::Create(const std::string& type, Attributes attributes, std::vector<SlotSpec> slots,
                      const std::string& name) {
  const char* const otherwise = type == "open_files" ? "files" : "reader";  // as in Python
  return Reader(std::make_shared<Node>(Node{type,
                                            {},
                                            std::move(attributes),
                                            std::move(slots),
                                            name.empty() ? otherwise : name,
                                            std::nullopt}));
}

Reader Reader::Decorate(const std::string& type, Attributes attributes,
                        const std::string& name) const {
  return Combine(type, {}, std::move(attributes), name);
}

Reader Reader::Combine(const std::string& type, const std::vector<Reader>& others,
                       Attributes attributes, const std::string& name) const {
  std::vector<Reader> below = {*this};
  below.insert(below.end(), others.begin(), others.end());
  const std::string joined = name.empty() ? StrCat(node_->name, ".", Short(type)) : name;
  return Reader(std::make_shared<Node>(
      Node{type, std::move(below), std::move(attributes), {}, joined, std::nullopt}));
}

Reader Reader::Apply(const std::string& type, size_t slot, Attributes attributes,
                     const std::string& name) const {
  const OperatorDef* const def = FindOperator(type);
  Require(def != nullptr, "no operator '", Escaped(type), "'");
  Require(!def->schema.inputs.empty() && !def->schema.outputs.empty(), "operator '", type,
          "' makes no tensor of a tensor");
  const size_t slots = Open().holder().slots().size();
  Require(slot < slots, "slot is ", slot, "; the reader has ", slots, " slots");
  const std::string joined = name.empty() ? StrCat(node_->name, ".", type) : name;
  Node::Step step{type,  def->schema.inputs[0].name, def->schema.outputs[0].name, {slot}, false,
                  slots, std::move(attributes)};
  return Reader(std::make_shared<Node>(
      Node{"create_custom_reader", {*this}, {}, {}, joined, std::move(step)}));
}

std::vector<std::string> Reader::Node::SlotNames() const {
  const auto given = attributes.find("fields");
  if (given != attributes.end()) {
    const auto* const fields = std::get_if<std::vector<std::string>>(&given->second);
    return fields == nullptr ? std::vector<std::string>() : NamesOf(*fields);
  }
  const auto files = attributes.find("file_names");
  if (files != attributes.end()) {
    const auto* const names = std::get_if<std::vector<std::string>>(&files->second);
    const bool is_given = names != nullptr && !names->empty();
    const FormatSchema* const format = is_given ? ChooseFormat(names->front()).schema : nullptr;
    return format == nullptr ? std::vector<std::string>() : format->slot_names;
  }
  const OperatorDef* const def = FindOperator(type);
  const bool joins = def != nullptr && def->schema.composition == Composition::kSideBySide;
  std::vector<std::string> names;
  for (size_t i = 0; i < below.size(); ++i) {
    const std::vector<std::string> more = below[i].node_->SlotNames();
    if (more.empty() || (!joins && i > 0 && more != names)) return {};
    if (joins || i == 0) names.insert(names.end(), more.begin(), more.end());
  }
  return names;
}

Reader Reader::Filter(const std::string& condition, const FilterOptions& options) const {
  const size_t slots = Open().holder().slots().size();
  std::vector<std::string> names = options.slots;
  Require(names.empty() || names.size() == slots, "filter: ", names.size(),
          " names of slots; the reader has ", slots, " slots");
  if (names.empty()) names = node_->SlotNames();
  if (names.size() != slots) {
    names.clear();
    for (size_t i = 0; i < slots; ++i) names.push_back(StrCat("slot", i));
  }
  Node::Step step{
      "condition", "X", "Out", {}, true, slots, {{"condition", condition}, {"names", names}}};
  for (size_t i = 0; i < slots; ++i) step.takes.push_back(i);
  const std::string joined = options.name.empty() ? StrCat(node_->name, ".filter") : options.name;
  return Reader(std::make_shared<Node>(
      Node{"create_filter_reader", {*this}, {}, {}, joined, std::move(step)}));
}

Position ReaderLoop::Save() {
  if (ended_) {
    holder_->ReInit();
    begun_ = ended_ = false;
  }
  return holder_->Save();
}

std::string Reader::ToText() const { return node_->MakeProgram().first->ToText(); }

ReaderLoop Reader::Open(const RunState& run) const {
  const auto [program, name] = node_->MakeProgram();
  auto scope = std::make_unique<Scope>();
  Executor(run).Run(program, ProgramRole::kStartup, scope.get());
  auto* const holder = scope->Find(name)->GetMutable<ReaderHolder>();
  return {std::move(scope), holder};
}

ReaderLoop Reader::Open(uint64_t seed) const {
  RunState run;
  run.seed = seed;
  return Open(run);
}

}  // namespace millhopper
