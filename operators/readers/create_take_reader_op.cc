// SPDX-License-Identifier: Apache-2.0
// create_take_reader: the first elements of every pass.
#include "operators/readers/support/reader_creation.h"
#include "readers/decorate/take_reader.h"

namespace millhopper {
namespace {

OpSchema TakeSchema() {
  return DecoratedReaderSchema(
             "Yields the first count elements of every pass of a reader; fewer, if there are "
             "fewer. Above a shuffle these are others in each pass, unless its reshuffle is false.")
      .Attr(AttributeSchema("count", int64_t{0}, "how many").Required().AtLeast(0))
      .Infer(InferSameSlots)
      .Composes(Composition::kSameSlots);
}

void CreateTakeReader(OpContext& context) {
  StoreReader(context, std::make_unique<TakeReader>(UnderlyingReader(context),
                                                    context.Attr<int64_t>("count")));
}

REGISTER_OPERATOR(create_take_reader, TakeSchema, CreateTakeReader);

}  // namespace
}  // namespace millhopper
