// SPDX-License-Identifier: Apache-2.0
#include "tests/operators/run_op.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <type_traits>

#include "framework/program/executor.h"
#include "framework/program/infer_context.h"
#include "framework/program/inference.h"
#include "framework/program/operator.h"
#include "framework/program/program.h"
#include "framework/program/scope.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

void SetAttribute(const std::string& name, const Attribute& value, proto::OpDesc::Attr* message) {
  message->set_name(name);
  const auto add_all = [](const auto& values, auto* field) {
    for (const auto& one : values) *field->Add() = one;
  };
  if (const auto* i = std::get_if<int32_t>(&value)) {
    message->set_type(proto::INT);
    message->set_i(*i);
  } else if (const auto* f = std::get_if<float>(&value)) {
    message->set_type(proto::FLOAT);
    message->set_f(*f);
  } else if (const auto* s = std::get_if<std::string>(&value)) {
    message->set_type(proto::STRING);
    message->set_s(*s);
  } else if (const auto* b = std::get_if<bool>(&value)) {
    message->set_type(proto::BOOLEAN);
    message->set_b(*b);
  } else if (const auto* l = std::get_if<int64_t>(&value)) {
    message->set_type(proto::LONG);
    message->set_l(*l);
  } else if (const auto* d = std::get_if<double>(&value)) {
    message->set_type(proto::FLOAT64);
    message->set_float64(*d);
  } else if (const auto* doubles = std::get_if<std::vector<double>>(&value)) {
    message->set_type(proto::FLOAT64S);
    add_all(*doubles, message->mutable_float64s());
  } else if (const auto* ints = std::get_if<std::vector<int32_t>>(&value)) {
    message->set_type(proto::INTS);
    add_all(*ints, message->mutable_ints());
  } else if (const auto* floats = std::get_if<std::vector<float>>(&value)) {
    message->set_type(proto::FLOATS);
    add_all(*floats, message->mutable_floats());
  } else if (const auto* strings = std::get_if<std::vector<std::string>>(&value)) {
    message->set_type(proto::STRINGS);
    add_all(*strings, message->mutable_strings());
  } else {
    Throw(ErrorCode::kInternal, "RunOp knows no attributes of type ", AttributeTypeName(value));
  }
}

std::string VariableName(const std::string& slot, int number) {
  std::string name = slot + "_variable";
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return number == 0 ? name : name + std::to_string(number);
}

LoDTensor Find(const SlotTensors& tensors, const std::string& slot) {
  for (const auto& [name, tensor] : tensors) {
    if (name == slot) return tensor;
  }
  Throw(ErrorCode::kInternal, "the test gives no ", slot);
}

// Expects that the operator's rule holds for the outputs that the operator made. If all inputs are
// known, the rule must know all of the outputs; if less is known, it must not contradict them.
// `inputs` is keyed by variable name.
void ExpectInferred(const proto::OpDesc& op, const std::map<std::string, TensorSpec>& inputs,
                    const Scope& scope, bool dims_by_values) {
  bool all_known = !dims_by_values;
  for (const auto& [name, spec] : inputs) all_known = all_known && spec.dtype.has_value();
  for (const bool open : {false, true}) {
    const auto find = [&](const std::string& name) {
      TensorSpec spec = inputs.at(name);
      if (open && spec.dims) {
        for (size_t i = 0; i < spec.dims->size(); ++i) (*spec.dims)[i] = -1;
        spec.lod_level.reset();
      }
      return VariableSpec{spec, std::nullopt};
    };
    for (const auto& [slot, arguments] : InferOutputs(op, find, {})) {
      for (const InferContext::Argument& argument : arguments) {
        const TensorSpec made = SpecOf(scope.Find(argument.name)->Get<LoDTensor>());
        const TensorSpec& said = argument.spec.tensor;
        EXPECT_TRUE(MayBeSame(said, made))
            << op.type() << ": output '" << slot << "' is said to be " << ToString(said)
            << " and is " << ToString(made);
        if (open || !all_known) continue;
        EXPECT_TRUE(said.dtype == made.dtype && said.dims == made.dims &&
                    said.lod_level == made.lod_level)
            << op.type() << ": output '" << slot << "' is said to be " << ToString(said)
            << " and is " << ToString(made);
      }
    }
  }
}

}  // namespace

std::map<std::string, LoDTensor> RunOp(const std::string& type, const SlotTensors& inputs,
                                       const std::vector<std::string>& outputs,
                                       const Attributes& attributes, const RunOpOptions& options) {
  proto::ProgramDesc program;
  proto::BlockDesc* block = program.add_blocks();
  block->set_idx(0);
  block->set_parent_idx(-1);
  std::set<std::string> declared;
  const auto declare = [&](const std::string& name) {
    if (!declared.insert(name).second) return;
    proto::VarDesc* variable = block->add_vars();
    variable->set_name(name);
    variable->mutable_type()->set_type(proto::VarType::LOD_TENSOR);
    variable->set_persistable(true);
  };
  proto::OpDesc* op = block->add_ops();
  op->set_type(type);
  Scope scope;
  std::map<std::string, TensorSpec> given;
  std::map<std::string, proto::OpDesc::Var*> slots;
  for (const auto& [slot, tensor] : inputs) {
    proto::OpDesc::Var*& arguments = slots[slot];
    if (arguments == nullptr) {
      arguments = op->add_inputs();
      arguments->set_parameter(slot);
    }
    const std::string name = VariableName(slot, arguments->arguments_size());
    arguments->add_arguments(name);
    declare(name);
    Variable* variable = scope.Var(name);
    if (tensor.initialized()) *variable->GetMutable<LoDTensor>() = tensor;
    given[name] = tensor.initialized() ? SpecOf(tensor) : TensorSpec();
  }
  std::map<std::string, std::string> written;
  for (const std::string& slot : outputs) {
    const auto same = options.in_place.find(slot);
    const std::string name = VariableName(same == options.in_place.end() ? slot : same->second, 0);
    proto::OpDesc::Var* arguments = op->add_outputs();
    arguments->set_parameter(slot);
    arguments->add_arguments(name);
    declare(name);
    written[slot] = name;
  }
  for (const auto& [name, value] : attributes) SetAttribute(name, value, op->add_attrs());

  std::string text;
  google::protobuf::TextFormat::PrintToString(program, &text);
  RunState run;
  run.seed = options.seed;
  Executor(run).Run(Program::FromString(text, "test.pbtxt"), ProgramRole::kMain, &scope);
  ExpectInferred(*op, given, scope, options.dims_by_values);
  std::map<std::string, LoDTensor> results;
  for (const auto& [slot, name] : written) results[slot] = scope.Find(name)->Get<LoDTensor>();
  return results;
}

void ExpectRefused(const std::string& words, const std::string& type, const SlotTensors& inputs,
                   const std::vector<std::string>& outputs, const Attributes& attributes) {
  ExpectError(ErrorCode::kInvalidArgument, words,
              [&] { RunOp(type, inputs, outputs, attributes); });
}

std::vector<double> NumericGradient(const std::function<double(const LoDTensor&)>& function,
                                    const LoDTensor& at) {
  constexpr double kStep = 1e-5;
  std::vector<double> gradient;
  for (int64_t i = 0; i < at.numel(); ++i) {
    LoDTensor moved = at;
    double* values = moved.mutable_data<double>();
    const double value = values[i];
    values[i] = value + kStep;
    const double above = function(moved);
    values = moved.mutable_data<double>();
    values[i] = value - kStep;
    gradient.push_back((above - function(moved)) / (2 * kStep));
  }
  return gradient;
}

void ExpectGradients(const GradientCase& gradient) {
  const auto forward = RunOp(gradient.type, gradient.inputs, gradient.outputs, gradient.attributes);
  LoDTensor weights = forward.at(gradient.output);
  double* weight = weights.mutable_data<double>();
  for (int64_t i = 0; i < weights.numel(); ++i) {
    weight[i] = static_cast<double>(i * 7 % 11) / 8 - 0.55;
  }

  SlotTensors inputs;
  for (const std::string& slot : gradient.given) {
    const auto output = forward.find(slot);
    inputs.emplace_back(slot,
                        output != forward.end() ? output->second : Find(gradient.inputs, slot));
  }
  inputs.emplace_back(gradient.output + "@GRAD", weights);
  std::vector<std::string> outputs;
  for (const std::string& slot : gradient.wanted) outputs.push_back(slot + "@GRAD");
  const auto backward = RunOp(gradient.type + "_grad", inputs, outputs, gradient.attributes);

  for (const std::string& slot : gradient.wanted) {
    SCOPED_TRACE(slot);
    const LoDTensor at = Find(gradient.inputs, slot);
    const std::vector<double> expected = NumericGradient(
        [&](const LoDTensor& moved) {
          SlotTensors changed = gradient.inputs;
          for (auto& [name, tensor] : changed) {
            if (name == slot) tensor = moved;
          }
          const LoDTensor out = RunOp(gradient.type, changed, gradient.outputs, gradient.attributes)
                                    .at(gradient.output);
          double sum = 0;
          for (int64_t i = 0; i < out.numel(); ++i) {
            sum += out.data<double>()[i] * weights.data<double>()[i];
          }
          return sum;
        },
        at);
    const LoDTensor& result = backward.at(slot + "@GRAD");
    EXPECT_EQ(result.dims(), at.dims());
    EXPECT_EQ(result.lod(), at.lod());
    const std::vector<double> values = ValuesOf<double>(result);
    ASSERT_EQ(values.size(), expected.size());
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_NEAR(values[i], expected[i], 1e-7 * (1 + std::abs(expected[i]))) << "value " << i;
    }
  }
}

}  // namespace millhopper
