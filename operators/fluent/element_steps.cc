// SPDX-License-Identifier: Apache-2.0
#include "operators/fluent/element_steps.h"

#include <string_view>

#include "framework/base/error.h"
#include "framework/program/declarations.h"
#include "framework/program/operator.h"
#include "framework/tensor/tensor.h"

namespace millhopper {
namespace {

using Strings = std::vector<std::string>;
using Attributes = std::map<std::string, Attribute>;

std::string AddVariable(const std::string& name, proto::BlockDesc* block) {
  proto::VarDesc* const added = block->add_vars();
  added->set_name(name);
  added->mutable_type()->set_type(proto::VarType::LOD_TENSOR);
  return name;
}

// An operator, of which each input and output is one variable or a list.
void AddOperator(const std::string& type, const std::map<std::string, Strings>& inputs,
                 const std::map<std::string, Strings>& outputs, const Attributes& attributes,
                 proto::BlockDesc* block) {
  proto::OpDesc* const op = block->add_ops();
  op->set_type(type);
  for (const auto& [parameter, names] : inputs) AddArgument(parameter, names, op->mutable_inputs());
  for (const auto& [parameter, names] : outputs) {
    AddArgument(parameter, names, op->mutable_outputs());
  }
  AddAttributes(attributes, op);
}

void AddWritten(const ElementSteps& steps, std::set<size_t>* slots) {
  for (const auto& step : steps) {
    if (step->alternatives.empty()) slots->insert(step->takes[0]);
    for (const auto& alternative : step->alternatives) AddWritten(alternative.steps, slots);
  }
}

// The slots that are written whatever is drawn.
std::set<size_t> AlwaysWritten(const ElementStep& choice) {
  if (choice.alternatives.back().limit < 1) return {};
  std::set<size_t> always;
  AddWritten(choice.alternatives[0].steps, &always);
  for (const auto& alternative : choice.alternatives) {
    std::set<size_t> written;
    AddWritten(alternative.steps, &written);
    for (auto slot = always.begin(); slot != always.end();) {
      slot = written.count(*slot) > 0 ? std::next(slot) : always.erase(slot);
    }
  }
  return always;
}

// Writes steps into a block. `held` has the variable that holds each slot.
class StepWriter {
 public:
  explicit StepWriter(proto::ProgramDesc* program) : program_(program) {}

  void Append(const ElementSteps& steps, proto::BlockDesc* block, Strings* held) {
    for (const auto& step : steps) {
      if (step->alternatives.empty()) {
        AppendOperator(*step, block, held);
      } else {
        AppendChoice(*step, block, held);
      }
    }
  }

 private:
  static void AppendOperator(const ElementStep& step, proto::BlockDesc* block, Strings* held) {
    const OpSchema& schema = FindOperator(step.type)->schema;
    Strings taken;
    for (const size_t slot : step.takes) taken.push_back((*held)[slot]);
    const std::string output = schema.outputs[0].name;
    const std::string made = AddVariable(StrCat(step.name, ":", output), block);
    AddOperator(step.type, {{schema.inputs[0].name, taken}}, {{output, {made}}}, step.attributes,
                block);
    (*held)[step.takes[0]] = made;
  }

  // A block for each alternative, which is run if the draw asks for it.
  void AppendChoice(const ElementStep& choice, proto::BlockDesc* block, Strings* held) {
    const Strings before = *held;
    const auto variable = [&](const std::string& name) {
      return AddVariable(StrCat(choice.name, ":", name), block);
    };
    std::set<size_t> written;
    for (const auto& alternative : choice.alternatives) AddWritten(alternative.steps, &written);
    const std::set<size_t> always = AlwaysWritten(choice);
    for (const size_t slot : written) {
      (*held)[slot] = variable(StrCat("slot", slot));
      if (always.count(slot) > 0) continue;
      AddOperator("assign", {{"X", {before[slot]}}}, {{"Out", {(*held)[slot]}}}, {}, block);
    }
    const auto of_one = [](Attributes more) {
      more["shape"] = std::vector<int32_t>{1};
      more["dtype"] = static_cast<int32_t>(DataType::kFp64);  // a float32 may be rounded up to 1
      return more;
    };
    const std::string draw = variable("draw");
    AddOperator("uniform_random", {}, {{"Out", {draw}}},
                of_one({{"min", 0.0f}, {"max", 1.0f}, {"seed", choice.seed}}), block);
    std::string not_yet;  // whether the draw is not below the limits of the alternatives before
    for (size_t i = 0; i < choice.alternatives.size(); ++i) {
      const auto& [limit, steps] = choice.alternatives[i];
      const std::string most = variable(StrCat("limit_", i));
      AddOperator("fill_constant", {}, {{"Out", {most}}}, of_one({{"value", limit}}), block);
      const std::string below = variable(StrCat("below_", i));
      AddOperator("less_than", {{"X", {draw}}, {"Y", {most}}}, {{"Out", {below}}}, {}, block);
      std::string chosen = below;
      if (i > 0) {
        chosen = variable(StrCat("chosen_", i));
        AddOperator("logical_and", {{"X", {not_yet}}, {"Y", {below}}}, {{"Out", {chosen}}}, {},
                    block);
      }
      not_yet = variable(StrCat("not_below_", i));
      AddOperator("logical_not", {{"X", {below}}}, {{"Out", {not_yet}}}, {}, block);
      proto::BlockDesc* const inner = AddBlock(block->idx(), program_);
      Strings within = before;
      Append(steps, inner, &within);
      for (const size_t slot : written) {
        if (within[slot] == before[slot]) continue;
        AddOperator("assign", {{"X", {within[slot]}}}, {{"Out", {(*held)[slot]}}}, {}, inner);
      }
      AddOperator("conditional_block", {{"X", {chosen}}}, {},
                  {{"sub_block", BlockIndex(inner->idx())}, {"is_scalar_condition", true}}, block);
    }
  }

  proto::ProgramDesc* const program_;
};

// Types by their names are numbers in programs: {"dtype", "int32"s}.
Attribute WithTypeAsNumber(const std::string& name, const Attribute& value) {
  constexpr std::string_view kEnd = "dtype";
  const auto* const text = std::get_if<std::string>(&value);
  if (text == nullptr || name.size() < kEnd.size() ||
      name.compare(name.size() - kEnd.size(), kEnd.size(), kEnd) != 0) {
    return value;
  }
  for (const DataType type : kDataTypes) {
    if (*text == ToString(type)) return static_cast<int32_t>(type);
  }
  return value;
}

}  // namespace

proto::BlockDesc* AddBlock(int parent, proto::ProgramDesc* program) {
  const int index = program->blocks_size();
  proto::BlockDesc* const block = program->add_blocks();
  block->set_idx(index);
  block->set_parent_idx(parent);
  return block;
}

void AddArgument(const std::string& parameter, const Strings& names,
                 google::protobuf::RepeatedPtrField<proto::OpDesc::Var>* to) {
  proto::OpDesc::Var* const added = to->Add();
  added->set_parameter(parameter);
  for (const std::string& name : names) added->add_arguments(name);
}

void AddAttributes(const Attributes& attributes, proto::OpDesc* op) {
  for (const auto& [name, value] : attributes) {
    ToProto(name, WithTypeAsNumber(name, value), op->add_attrs());
  }
}

void AddStepNames(const ElementSteps& steps, std::set<std::string>* names) {
  for (const auto& step : steps) {
    names->insert(step->name);
    for (const auto& alternative : step->alternatives) AddStepNames(alternative.steps, names);
  }
}

size_t BlocksOf(const ElementSteps& steps) {
  size_t blocks = 0;
  for (const auto& step : steps) {
    for (const auto& alternative : step->alternatives) blocks += 1 + BlocksOf(alternative.steps);
  }
  return blocks;
}

void AppendSteps(const ElementSteps& steps, const std::string& below, size_t slots,
                 proto::OpDesc* reader, proto::ProgramDesc* program) {
  proto::BlockDesc* const block = AddBlock(0, program);
  Strings sources;
  for (size_t i = 0; i < slots; ++i) {
    sources.push_back(AddVariable(StrCat(below, ":slot", i), block));
  }
  Strings sinks = sources;
  StepWriter(program).Append(steps, block, &sinks);
  // A filter asks for its condition alone, which took the place of the first slot.
  if (reader->type() == "create_filter_reader") sinks.resize(1);
  AddAttributes({{"sub_block", BlockIndex(block->idx())},
                 {"source_var_names", sources},
                 {"sink_var_names", sinks}},
                reader);
}

}  // namespace millhopper
