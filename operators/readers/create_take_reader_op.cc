// SPDX-License-Identifier: Apache-2.0
// create_take_reader: the first elements of every pass.
#include <memory>
#include <utility>

#include "operators/readers/support/reader_creation.h"
#include "readers/decorate/take_reader.h"
#include "readers/lanes/lane_stretch.h"

namespace millhopper {
namespace {

OpSchema TakeSchema() {
  return DecoratedReaderSchema(
             "Yields the first count elements of every pass of a reader; fewer, if there are "
             "fewer. Above a shuffle these are others in each pass, unless its reshuffle is false. "
             "Of lanes that create_shard_reader has shared, each gives its part of the first of "
             "all, so that all parts together are these; a lane that ends before is an error, "
             "unless all are even.")
      .Attr(AttributeSchema("count", int64_t{0}, "how many").Required().AtLeast(0))
      .LaneWise([](const AttributeMap&, bool shared) { return shared; })
      .Infer(InferSameSlots)
      .Composes(Composition::kSameSlots);
}

void CreateTakeReader(OpContext& context) {
  StoreStretch(
      context,
      [&context](std::unique_ptr<ReaderBase> below, LaneNumber) {
        return std::make_unique<TakeReader>(std::move(below), context.Attr<int64_t>("count"));
      },
      LaneStretch::Keep::kPart);
}

REGISTER_OPERATOR(create_take_reader, TakeSchema, CreateTakeReader);

}  // namespace
}  // namespace millhopper
