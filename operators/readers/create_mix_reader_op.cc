// SPDX-License-Identifier: Apache-2.0
// create_mix_reader: several readers by turns, by weight.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
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

using Weights = MixWeights;
using Steps = std::vector<int64_t>;

constexpr char kVariable[] = "WeightsTensor";

void CheckSteps(const Steps& steps, const Weights& weights) {
  if (steps.empty()) return;
  Require(!weights.empty(),
          "attribute 'steps' says from where on weights hold, but there is no attribute 'weights'");
  Require(steps[0] == 0, "attribute 'steps' begins with ", steps[0],
          "; the first weights hold from element 0 on");
  for (size_t i = 1; i < steps.size(); ++i) {
    Require(steps[i] > steps[i - 1], "attribute 'steps' has ", steps[i], " after ", steps[i - 1],
            "; steps go up");
  }
}

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
  const auto& steps = attributes.Get<Steps>("steps");
  CheckSteps(steps, weights);
  const size_t sets = std::max<size_t>(steps.size(), 1);
  Require(weights.empty() || weights.size() == readers * sets, "attribute 'weights' has ",
          weights.size(), " values for ", readers, " readers",
          sets > 1 ? StrCat(" and ", sets, " steps") : "");
  const auto& read = attributes.Get<std::string>("weights_read");
  Require(has_variable || read == "pass", "attribute 'weights_read' is '", read,
          "', but no input 'WeightsTensor' is given that could be read");
}

void Infer(InferContext& context) {
  const TensorSpec& weights = context.In(kVariable);
  if (weights.dtype && *weights.dtype != DataType::kFp32 && *weights.dtype != DataType::kFp64) {
    context.ThrowUnfit(kVariable, "weights are float32 or float64");
  }
  InferUnitedSlots(context);
}

// A lane cannot begin anew while others still read their part of the same files, and works ahead of
// the loop that may change weights.
bool IsLaneWise(const AttributeMap& attributes, bool) {
  return attributes.Get<std::string>("when_exhausted") != "repeat" &&
         attributes.Get<std::string>("weights_read") == "pass";
}

OpSchema MixSchema() {
  return CombinedReaderSchema(
             "Yields the elements of several readers with the same slots (an axis may be -1, any "
             "size, in some of them) by turns: after any "
             "number of elements each reader's part is within 1 of its weight's share. Readers "
             "with equally many lanes are mixed lane by lane, each by turns of its own, unless "
             "they are repeated.\n\n"
             "Shares hold for each of several processes, too: where create_shard_reader divides "
             "the elements by record, above or below create_batch_reader, each process has turns "
             "of its own, which keep its part of each reader within 2 of the share over any "
             "stretch; so does each lane. Therefore the order depends on num_shards. Of a mix of "
             "mixes that holds for the outer one: put all readers into one, with the products of "
             "the weights.",
             Check)
      .OptionalInput(kVariable,
                     "one weight for each reader, float32 or float64, in a persistable variable; "
                     "read as weights_read says")
      .Attr(AttributeSchema(
                "weights", Weights{},
                "one for each reader, if input WeightsTensor is not given; only their ratios "
                "matter; all are equal by default. With steps: one for each reader from the first "
                "step on, then one for each from the next step on, and so on")
                .AtLeast(0))
      .Attr(AttributeSchema(
                "steps", Steps{},
                "the elements of each pass from which on the weights hold, counted over all lanes "
                "and processes: [0, 10000] with weights for two readers [3, 1, 1, 1] takes 3 to 1 "
                "of the first 10000 elements, then 1 to 1. The first is 0. If no reader that is "
                "left has a weight, the next weights hold at once. Steps that are still to come "
                "may be "
                "others in a program that restores a position")
                .AtLeast(0))
      .Attr(AttributeSchema(
                "weights_read", std::string("pass"),
                "when input WeightsTensor is read. pass: when the first element of a pass is asked "
                "for; where another reader on top counts several passes as one "
                "(create_multi_pass_reader), once for all; element: whenever an element is asked "
                "for, by has_next, too. What readers on top hold, such as a shuffle or a batch, "
                "was planned by the weights of that time. Those that work ahead of the loop "
                "(create_double_buffer_reader, filters, lanes) are an error: put them below")
                .OneOf({"pass", "element"}))
      .Attr(AttributeSchema(
                "by", std::string("records"),
                "what weights are shares of. records: numbers of elements; bytes: their bytes in "
                "memory; slot: lengths of the slot `slot`, such as numbers of tokens. By bytes or "
                "slot the next element is of the reader whose share so far is farthest below its "
                "weight's; elements are loaded for that")
                .OneOf({"records", "bytes", "slot"}))
      .Attr(AttributeSchema("slot", int64_t{0},
                            "whose length along the leading axis counts, from 0; for by: \"slot\"")
                .AtLeast(0)
                .NumbersSlots())
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

// What the attributes `weights` and `steps` say of so many readers.
std::vector<MixStep> StepsOf(const AttributeMap& attributes, size_t readers) {
  const auto& weights = attributes.Get<Weights>("weights");
  if (weights.empty()) return {{0, Weights(readers, 1)}};
  std::vector<MixStep> steps;
  auto next = weights.begin();
  for (const int64_t first : attributes.Get<Steps>("steps")) {
    const auto end = next + static_cast<std::ptrdiff_t>(readers);
    steps.push_back({static_cast<uint64_t>(first), Weights(next, end)});
    next = end;
  }
  if (steps.empty()) steps.push_back({0, weights});
  return steps;
}

MixOptions OptionsOf(OpContext& context) {
  const AttributeMap& attributes = context.attributes();
  MixOptions options;
  options.steps = StepsOf(attributes, context.InCount("UnderlyingReaders"));
  if (context.InCount(kVariable) > 0) {
    Variable& variable = context.InVar(kVariable);
    Require(context.scope().root()->FindLocal(variable.name()) == &variable,
            "input 'WeightsTensor': '", Escaped(variable.name()),
            "' is not persistable, so that no other program could change it; for constant weights "
            "give attribute 'weights'");
    options.steps = {{0, ValuesOf(variable)}};
    options.changed_weights = [shared = variable.shared_from_this()] { return ValuesOf(*shared); };
    options.each_element = attributes.Get<std::string>("weights_read") == "element";
  }
  options.end = MixEndOf(attributes.Get<std::string>("when_exhausted"));
  const auto& by = attributes.Get<std::string>("by");
  if (by != "records") options.measure.emplace();
  if (by == "slot") options.measure->slot = static_cast<size_t>(attributes.Get<int64_t>("slot"));
  return options;
}

void CreateMixReader(OpContext& context) {
  const MixOptions options = OptionsOf(context);
  const RandomKey key = RandomKeyOf(context);
  const auto make = [&](std::vector<std::unique_ptr<ReaderBase>> readers, LaneNumber number) {
    MixOptions own = options;
    own.lane = {number.lane, number.lanes};
    return std::make_unique<MixReader>(std::move(readers), std::move(own),
                                       number.lanes == 1 ? key : key.OfPart(number.lane));
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
