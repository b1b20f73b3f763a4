// SPDX-License-Identifier: Apache-2.0
// create_resample_reader: repeats elements and leaves elements out, by weight.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "operators/readers/support/reader_creation.h"
#include "readers/decorate/resample_reader.h"

namespace millhopper {
namespace {

using Texts = std::vector<std::string>;
using Weights = std::vector<double>;

OpSchema ResampleSchema() {
  return DecoratedReaderSchema(
             "Yields each element as often as its weight says: 0 leaves it out, 2 yields it twice, "
             "one after the other, 0.1 every tenth of its class, 2.5 twice and three times by "
             "turns. So each class has its number of elements times its weight, within one, in "
             "each pass. Where in its turns a class begins is drawn for each pass, so that passes "
             "leave out others. What is yielded again is another element to random operators above "
             "it. Put it below a shuffle.")
      .Attr(AttributeSchema("slot", int64_t{0},
                            "whose value weighs the element: one number, or one text, from 0")
                .AtLeast(0)
                .NumbersSlots())
      .Attr({"classes", Texts{},
             "the values of the slot that have the weights `weights`, as they are written: \"7\", "
             "\"cat\"; by default the slot holds the weight itself, float or integer"})
      .Attr(AttributeSchema("weights", Weights{}, "of each class, up to 65536").AtLeast(0))
      .Attr(AttributeSchema("others", double{0},
                            "the weight of other classes; by default they are an error")
                .AtLeast(0)
                .Optional())
      .Attr(
          {"seed", int64_t{0}, "draws where turns begin, together with --seed and the name of Out"})
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        const size_t classes = attributes.Get<Texts>("classes").size();
        const size_t weights = attributes.Get<Weights>("weights").size();
        Require(classes == weights, "attribute 'weights' has ", weights, " values for ", classes,
                " classes");
      })
      .Order([](const AttributeMap&) {
        return PassOrder{PassOrder::kDiffers, "put skip and take below it"};
      })
      .LaneWise()
      .Infer(InferSameSlots)
      .Composes(Composition::kSameSlots);
}

ElementWeights WeightsOf(const OpContext& context) {
  const auto slot = static_cast<size_t>(context.Attr<int64_t>("slot"));
  const Texts& classes = context.Attr<Texts>("classes");
  if (classes.empty()) {
    Require(!context.IsGiven("others"), "attribute 'others' is for the classes of 'classes'");
    return ElementWeights::OfSlot(slot);
  }
  std::optional<double> others;
  if (context.IsGiven("others")) others = context.Attr<double>("others");
  return ElementWeights::OfClasses(slot, classes, context.Attr<Weights>("weights"), others);
}

void CreateResampleReader(OpContext& context) {
  const RandomKey key = RandomKeyOf(context);
  const ElementWeights weights = WeightsOf(context);
  StoreLaneWise(context, [&](std::unique_ptr<ReaderBase> below, LaneNumber number) {
    return std::make_unique<ResampleReader>(std::move(below), weights,
                                            number.lanes == 1 ? key : key.OfPart(number.lane));
  });
}

REGISTER_OPERATOR(create_resample_reader, ResampleSchema, CreateResampleReader);

}  // namespace
}  // namespace millhopper
