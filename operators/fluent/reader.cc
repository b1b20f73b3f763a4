// SPDX-License-Identifier: Apache-2.0
#include "operators/fluent/reader.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string_view>

#include "framework/base/error.h"
#include "framework/base/spelling.h"
#include "framework/program/executor.h"
#include "framework/program/operator.h"
#include "framework/program/program.h"
#include "operators/fluent/element_steps.h"
#include "operators/readers/support/default_lanes.h"
#include "operators/readers/support/slot_declaration.h"
#include "operators/readers/support/slot_names.h"
#include "proto/framework.pb.h"
#include "readers/fields/fields.h"

namespace millhopper {

// A creation operator.
struct Reader::Node {
  std::string type;
  std::vector<Reader> below;
  Attributes attributes;
  std::vector<SlotSpec> slots;  // that are declared
  std::string name;
  ElementSteps steps;                // of create_custom_reader and create_filter_reader
  std::optional<size_t> step_slots;  // how many slots the elements have on which they are run

  // Adds the operators of this chain to block 0 and returns the name of the reader on top, which
  // has a number if another reader has its name already.
  std::string AppendTo(proto::ProgramDesc* program, std::set<std::string>* taken) const;
  // The names of its readers and of what is done to their elements.
  void AddNames(std::set<std::string>* names) const;
  // The reader of files, numbers ... that the chain begins with; of several the first.
  const std::string& Source() const { return below.empty() ? name : below[0].node_->Source(); }
  // As the fields of the files tell them; empty if none do. A step keeps the names.
  std::vector<std::string> SlotNames() const;
  // The program, and the name of the reader on top.
  std::pair<std::shared_ptr<const Program>, std::string> MakeProgram() const;
};

namespace {

constexpr size_t kMostInOrder = 4;    // of which there are 24 orders, each of which is a block
constexpr size_t kMostBlocks = 1000;  // of all orders, with what the functions choose

// "padded_batch" of create_padded_batch_reader.
std::string Short(std::string_view type) {
  constexpr std::string_view kCreate = "create_", kReader = "_reader";
  if (type.substr(0, kCreate.size()) == kCreate) type.remove_prefix(kCreate.size());
  if (type.size() > kReader.size() && type.substr(type.size() - kReader.size()) == kReader) {
    type.remove_suffix(kReader.size());
  }
  return std::string(type);
}

// A name, with a number if it is taken.
std::string Free(const std::string& name, const std::set<std::string>& taken) {
  std::string own = name;
  for (int number = 2; taken.count(own) > 0; ++number) own = StrCat(name, "_", number);
  return own;
}

bool Draws(const OpSchema& schema) {
  return std::any_of(schema.attributes.begin(), schema.attributes.end(),
                     [](const AttributeSchema& attribute) { return attribute.name == "seed"; });
}

}  // namespace

std::string Reader::Node::AppendTo(proto::ProgramDesc* program,
                                   std::set<std::string>* taken) const {
  std::vector<std::string> arguments;
  for (const Reader& reader : below) arguments.push_back(reader.node_->AppendTo(program, taken));
  std::string own = Free(name, *taken);
  taken->insert(own);
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
  if (step_slots) AppendSteps(steps, arguments[0], *step_slots, &op, program);
  *program->mutable_blocks(0)->add_ops() = std::move(op);
  return own;
}

void Reader::Node::AddNames(std::set<std::string>* names) const {
  names->insert(name);
  AddStepNames(steps, names);
  for (const Reader& reader : below) reader.node_->AddNames(names);
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
                                            {},
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
      Node{type, std::move(below), std::move(attributes), {}, joined, {}, std::nullopt}));
}

Reader Reader::WithSteps() const {
  if (node_->type == "create_custom_reader" && node_->step_slots) return *this;
  const size_t slots = Open().holder().slots().size();
  return Reader(std::make_shared<Node>(
      Node{"create_custom_reader", {*this}, {}, {}, node_->name, {}, slots}));
}

Reader Reader::WithStep(ElementStep step, const std::set<std::string>& taken,
                        const std::string& name) const {
  Require(taken.count(step.name) == 0, "another step or reader has the name '", Escaped(step.name),
          "'; give another");
  const Node& node = *node_;
  ElementSteps steps = node.steps;
  steps.push_back(std::make_shared<const ElementStep>(std::move(step)));
  return Reader(std::make_shared<Node>(
      Node{node.type, node.below, {}, {}, name, std::move(steps), node.step_slots}));
}

std::set<std::string> Reader::NamesBelowStep() const {
  std::set<std::string> names;
  node_->below[0].node_->AddNames(&names);
  AddStepNames(node_->steps, &names);
  return names;
}

Reader Reader::Apply(const std::string& type, size_t slot, Attributes attributes,
                     const std::string& name) const {
  const OperatorDef* const def = FindOperator(type);
  Require(def != nullptr, "no operator '", Escaped(type), "'", DidYouMean(type, OperatorTypes()));
  Require(!def->schema.inputs.empty() && !def->schema.outputs.empty(), "operator '", type,
          "' makes no tensor of a tensor");
  const Reader steps = WithSteps();
  const size_t slots = *steps.node_->step_slots;
  Require(slot < slots, "slot is ", slot, "; the reader has ", slots, " slots");
  const std::string joined = name.empty() ? StrCat(node_->name, ".", type) : name;
  const std::set<std::string> taken = steps.NamesBelowStep();
  // What draws is named by the source, so that it draws the same whatever else a chain has.
  const std::string usual = Draws(def->schema) ? StrCat(node_->Source(), ".", type) : joined;
  ElementStep step;
  step.name = name.empty() ? Free(usual, taken) : name;
  step.type = type;
  step.takes = {slot};
  step.attributes = std::move(attributes);
  return steps.WithStep(std::move(step), taken, joined);
}

ElementSteps Reader::Added(const char* method, const Steps& function) const {
  const Reader made = function(*this);
  const ElementSteps& before = node_->steps;
  const ElementSteps& after = made.node_->steps;
  const bool adds = made.node_->type == node_->type && made.node_->step_slots &&
                    made.node_->below[0].node_ == node_->below[0].node_ &&
                    after.size() >= before.size() &&
                    std::equal(before.begin(), before.end(), after.begin());
  Require(adds, method, ": a function returns a reader that is not its reader with more steps");
  return {after.begin() + static_cast<std::ptrdiff_t>(before.size()), after.end()};
}

Reader Reader::Choose(const char* method, const std::vector<Steps>& functions,
                      const std::vector<double>& shares, const ChoiceOptions& options) const {
  const Reader steps = WithSteps();
  std::set<std::string> taken = steps.NamesBelowStep();
  ElementStep choice;
  double limit = 0;
  for (size_t i = 0; i < functions.size(); ++i) {
    limit += shares[i];
    // One of several is chosen, and none of share 0.
    const bool is_last =
        functions.size() > 1 && std::all_of(shares.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                            shares.end(), [](double share) { return share == 0; });
    choice.alternatives.push_back(
        {is_last ? 1.0f : static_cast<float>(limit), steps.Added(method, functions[i])});
    AddStepNames(choice.alternatives.back().steps, &taken);
  }
  choice.name =
      options.name.empty() ? Free(StrCat(node_->Source(), ".", method), taken) : options.name;
  choice.seed = options.seed.value_or(0);
  const std::string joined = options.name.empty() ? StrCat(node_->name, ".", method) : options.name;
  return steps.WithStep(std::move(choice), taken, joined);
}

Reader Reader::RandomApply(const Steps& steps, double p, const ChoiceOptions& options) const {
  Require(p >= 0 && p <= 1, "random_apply: p is ", p, "; it is from 0 to 1");
  return Choose("random_apply", {steps}, {p}, options);
}

Reader Reader::RandomChoice(const std::vector<Steps>& steps, const std::vector<double>& p,
                            const ChoiceOptions& options) const {
  std::vector<double> shares = p.empty() ? std::vector<double>(steps.size(), 1.0) : p;
  Require(shares.size() == steps.size() && !steps.empty(), "random_choice: ", shares.size(),
          " probabilities for ", steps.size(), " steps");
  double sum = 0;
  for (const double share : shares) {
    Require(share >= 0, "random_choice: p has ", share, "; each is at least 0");
    sum += share;
  }
  Require(sum > 0 && std::isfinite(sum), "random_choice: the sum of p is ", sum);
  for (double& share : shares) share /= sum;
  return Choose("random_choice", steps, shares, options);
}

Reader Reader::RandomOrder(const std::vector<Steps>& steps, const ChoiceOptions& options) const {
  Require(!steps.empty() && steps.size() <= kMostInOrder, "random_order: ", steps.size(),
          " functions; it takes 1 to ", kMostInOrder, ", each of which may add several steps");
  const Reader below = WithSteps();
  size_t count = 1;
  for (size_t i = 2; i <= steps.size(); ++i) count *= i;
  size_t blocks = 1;
  for (const Steps& function : steps) blocks += BlocksOf(below.Added("random_order", function));
  blocks *= count;
  Require(blocks <= kMostBlocks, "random_order: ", blocks, " blocks of the program, and at most ",
          kMostBlocks, " are possible: each of ", count,
          " orders has those of all choices and orders that the functions add");
  std::vector<size_t> order(steps.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::vector<Steps> orders;
  do {
    orders.emplace_back([&steps, order](Reader reader) {
      for (const size_t number : order) reader = steps[number](reader);
      return reader;
    });
  } while (std::next_permutation(order.begin(), order.end()));
  const std::vector<double> shares(count, 1.0 / static_cast<double>(count));
  return below.Choose("random_order", orders, shares, options);
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
    return names == nullptr ? std::vector<std::string>() : SlotNamesOfFiles(*names, attributes);
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
  Require(slots > 0, "filter: '", Escaped(node_->name),
          "' does not tell its slots before it is read; declare them");
  std::vector<std::string> names = options.slots;
  Require(names.empty() || names.size() == slots, "filter: ", names.size(),
          " names of slots; the reader has ", slots, " slots");
  if (names.empty()) names = node_->SlotNames();
  if (names.size() != slots) {
    names.clear();
    for (size_t i = 0; i < slots; ++i) names.push_back(StrCat("slot", i));
  }
  ElementStep step;
  step.name = options.name.empty() ? StrCat(node_->name, ".filter") : options.name;
  step.type = "condition";
  for (size_t i = 0; i < slots; ++i) step.takes.push_back(i);
  step.attributes = {{"condition", condition}, {"names", names}};
  const std::string joined = step.name;
  ElementSteps steps = {std::make_shared<const ElementStep>(std::move(step))};
  return Reader(std::make_shared<Node>(
      Node{"create_filter_reader", {*this}, {}, {}, joined, std::move(steps), slots}));
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
