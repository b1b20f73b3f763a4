// SPDX-License-Identifier: Apache-2.0
// create_shuffle_reader: draws elements at random from a window.
#include "operators/readers/support/reader_creation.h"
#include "readers/decorate/shuffle_reader.h"

namespace millhopper {
namespace {

OpSchema ShuffleSchema() {
  return DecoratedReaderSchema(
             "Draws the elements of a reader at random from a window, which is refilled meanwhile. "
             "Every pass has another order. Where records can be read one by one, shuffle_records "
             "of open_files shuffles all of them, in little memory.\n\n"
             "With reshuffle: false every pass has the same order; then take and skip divide the "
             "elements into two parts that have none in common, in all passes. "
             "create_split_reader does so in any order.\n\n"
             "Like tf.data.Dataset.shuffle, whose reshuffle_each_iteration is reshuffle.")
      .Attr(AttributeSchema("buffer_size", int32_t{},
                            "elements in the window from which the next one is drawn")
                .Required()
                .AtLeast(1))
      .Attr({"seed", int64_t{0}, "decides the order together with --seed and the name of Out"})
      .Attr(ReshuffleAttribute())
      .Order([](const AttributeMap& attributes) {
        // A window of one element has no choice.
        return attributes.Get<int32_t>("buffer_size") > 1 ? ShuffledOrder(attributes) : PassOrder();
      })
      .LaneWise()
      .Infer(InferSameSlots)
      .Composes(Composition::kSameSlots);
}

void CreateShuffleReader(OpContext& context) {
  const int64_t window = context.Attr<int32_t>("buffer_size");
  const RandomKey key = OrderKeyOf(context);
  StoreLaneWise(context, [&](std::unique_ptr<ReaderBase> below, LaneNumber number) {
    const auto lanes = static_cast<int64_t>(number.lanes);
    Require(window >= lanes, "buffer_size is ", window,
            ", which is less than one element for each of ", lanes, " lanes");
    // The windows of all lanes together have the size that was asked for.
    return std::make_unique<ShuffleReader>(std::move(below),
                                           (window + static_cast<int64_t>(number.lane)) / lanes,
                                           lanes == 1 ? key : key.OfPart(number.lane));
  });
}

REGISTER_OPERATOR(create_shuffle_reader, ShuffleSchema, CreateShuffleReader);

}  // namespace
}  // namespace millhopper
