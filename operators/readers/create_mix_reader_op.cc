// SPDX-License-Identifier: Apache-2.0
// create_mix_reader: several readers by turns, by weight.
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/program/infer_context.h"
#include "framework/program/scope.h"
#include "operators/readers/support/reader_creation.h"
#include "proto/framework.pb.h"
#include "readers/combine/mix_reader.h"
#include "readers/lanes/joined_source.h"

namespace millhopper {
namespace {

using Weights = MixReader::Weights;

constexpr char kVariable[] = "WeightsTensor";

void Check(const proto::OpDesc& op, const AttributeMap& attributes) {
  size_t readers = 0;
  bool has_variable = false;
  for (const auto& input : op.inputs()) {
    if (input.parameter() == "UnderlyingReaders") {
      readers = static_cast<size_t>(input.arguments_size());
    }
    has_variable = has_variable || (input.parameter() == kVariable && input.arguments_size() > 0);
  }
  const auto& weights = attributes.Get<Weights>("weights");
  Require(!has_variable || weights.empty(),
          "the weights are given twice: by input 'WeightsTensor' and by attribute 'weights'");
  Require(weights.empty() || weights.size() == readers, "attribute 'weights' has ", weights.size(),
          " values for ", readers, " readers");
}

void Infer(InferContext& context) {
  const TensorSpec& weights = context.In(kVariable);
  if (weights.dtype && *weights.dtype != DataType::kFp32 && *weights.dtype != DataType::kFp64) {
    context.ThrowUnfit(kVariable, "weights are float32 or float64");
  }
  InferUnitedSlots(context);
}

// A lane cannot begin anew while others still read their part of the same files.
bool IsLaneWise(const AttributeMap& attributes, bool) {
  return attributes.Get<std::string>("when_exhausted") != "repeat";
}

OpSchema MixSchema() {
  return CombinedReaderSchema(
             "Yields the elements of several readers with the same slots (an axis may be -1, any "
             "size, in some of them) by turns: after any "
             "number of elements each reader's part is within 1 of its weight's share. Readers "
             "with equally many lanes are mixed lane by lane, each by turns of its own, unless "
             "they are repeated.",
             Check)
      .OptionalInput(kVariable,
                     "one weight for each reader, float32 or float64, in a persistable variable; "
                     "read when the first element of a pass is asked for; where another reader on "
                     "top counts several passes as one (create_multi_pass_reader), once for all")
      .Attr(AttributeSchema(
                "weights", Weights{},
                "one for each reader, if input WeightsTensor is not given; only their ratios "
                "matter; all are equal by default")
                .AtLeast(0))
      .Attr(AttributeSchema(
                "when_exhausted", std::string("stop"),
                "when it is the turn of a reader that has ended. stop: the pass ends; "
                "continue: the pass continues with the others and ends with the last one; "
                "repeat: the reader begins anew, and the pass ends when each has ended "
                "at least once")
                .OneOf({"stop", "continue", "repeat"}))
      .Attr({"seed", int64_t{0},
             "decides between readers whose turn is equally due, together with --seed and the name "
             "of Out"})
      .Order([](const AttributeMap&) {
        return PassOrder{PassOrder::kDiffers, "put skip and take below it"};
      })
      .LaneWise(IsLaneWise)
      .Infer(Infer)
      .Composes(Composition::kByTurns);
}

Weights ValuesOf(const Variable& variable) {
  const LoDTensor& tensor = variable.Get<LoDTensor>();
  const auto count = static_cast<size_t>(tensor.numel());
  if (tensor.dtype() == DataType::kFp64) {
    return Weights(tensor.data<double>(), tensor.data<double>() + count);
  }
  return Weights(tensor.data<float>(), tensor.data<float>() + count);
}

void CreateMixReader(OpContext& context) {
  auto weights = context.Attr<Weights>("weights");
  if (weights.empty()) weights.assign(context.InCount("UnderlyingReaders"), 1);
  std::function<Weights()> changed_weights;
  if (context.InCount(kVariable) > 0) {
    Variable& variable = context.InVar(kVariable);
    Require(context.scope().root()->FindLocal(variable.name()) == &variable,
            "input 'WeightsTensor': '", Escaped(variable.name()),
            "' is not persistable, so that no other program could change it; for constant weights "
            "give attribute 'weights'");
    weights = ValuesOf(variable);
    changed_weights = [shared = variable.shared_from_this()] { return ValuesOf(*shared); };
  }
  const RandomKey key = RandomKeyOf(context);
  const MixEnd end = MixEndOf(context.Attr<std::string>("when_exhausted"));
  const auto make = [&](std::vector<std::unique_ptr<ReaderBase>> readers, LaneNumber number) {
    return std::make_unique<MixReader>(std::move(readers), weights, changed_weights, end,
                                       number.lanes == 1 ? key : key.OfPart(number.lane),
                                       number.lanes);
  };
  if (IsLaneWise(context.attributes(), false) && HaveEqualLanes(context)) {
    StoreLaneWise(context, JoinedSource::Elements::kByTurns, make);
  } else {
    StoreReader(context, make(UnderlyingReaders(context), {}));
  }
}

REGISTER_OPERATOR(create_mix_reader, MixSchema, CreateMixReader);

}  // namespace
}  // namespace millhopper
