// SPDX-License-Identifier: Apache-2.0
// create_partners_reader: elements with others of their window beside them.
#include <vector>

#include "framework/program/infer_context.h"
#include "operators/readers/support/reader_creation.h"
#include "readers/gather/partners_reader.h"

namespace millhopper {
namespace {

using Longs = std::vector<int64_t>;

PartnersOptions OptionsOf(const AttributeMap& attributes) {
  PartnersOptions options;
  options.count = attributes.Get<int64_t>("count");
  options.window = attributes.Get<int32_t>("window");
  options.slots = attributes.Get<Longs>("slots");
  return options;
}

void Infer(InferContext& context) {
  InferSlotsFrom(context, [&context](const std::vector<SlotSpec>& below) {
    return SlotsWithPartners(below, OptionsOf(context.attributes()));
  });
}

OpSchema PartnersSchema() {
  return DecoratedReaderSchema(
             "Yields each element with others that are drawn, its partners, beside it: its slots, "
             "then those of the first partner, and so on, for operators that make one image of "
             "several (mosaic, mixup_detection, copy_paste). Each `window` elements, one after "
             "another, draw from one another, each partner by itself; the last window of a pass "
             "may be smaller, and an element that is alone in it is its own partner. Each element "
             "is loaded once. Draws depend on the name of the element, the seeds and the name of "
             "Out: they are the same for any threads and after a resume.")
      .Attr(AttributeSchema("count", int64_t{}, "partners of each element").Required().AtLeast(1))
      .Attr(AttributeSchema("window", int32_t{64},
                            "elements that draw from one another, which are held in memory; where "
                            "there are lanes, they share it")
                .AtLeast(2))
      .Attr(
          AttributeSchema("slots", Longs{}, "the slots that partners have, from 0; by default all")
              .Optional()
              .NumbersSlots())
      .Attr({"seed", int64_t{0}, "decides the draws together with --seed and the name of Out"})
      .LaneWise()
      .Infer(Infer);
}

void CreatePartnersReader(OpContext& context) {
  const PartnersOptions options = OptionsOf(context.attributes());
  const RandomKey key = RandomKeyOf(context);
  StoreLaneWise(context, [&](std::unique_ptr<ReaderBase> below, LaneNumber number) {
    const auto lanes = static_cast<int64_t>(number.lanes);
    Require(options.window >= 2 * lanes, "window is ", options.window,
            ", which is less than two elements for each of ", lanes, " lanes");
    PartnersOptions of_lane = options;
    of_lane.window = (options.window + static_cast<int64_t>(number.lane)) / lanes;
    return std::make_unique<PartnersReader>(std::move(below), of_lane, key);
  });
}

REGISTER_OPERATOR(create_partners_reader, PartnersSchema, CreatePartnersReader);

}  // namespace
}  // namespace millhopper
