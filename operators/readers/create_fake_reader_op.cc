// SPDX-License-Identifier: Apache-2.0
// create_fake_reader: the first element again and again.
#include "operators/readers/support/reader_creation.h"
#include "readers/decorate/fake_reader.h"

namespace millhopper {
namespace {

OpSchema FakeSchema() {
  return DecoratedReaderSchema(
             "Yields the first element of every pass of a reader count times. A loop over it costs "
             "what it does besides reading, so it shows whether reading is what a training waits "
             "for. Like paddle.reader.Fake.")
      .Attr(AttributeSchema("count", int64_t{0}, "elements in a pass").Required().AtLeast(0))
      .Infer(InferSameSlots)
      .Composes(Composition::kSameSlots);
}

void CreateFakeReader(OpContext& context) {
  StoreReader(context, std::make_unique<FakeReader>(UnderlyingReader(context),
                                                    context.Attr<int64_t>("count")));
}

REGISTER_OPERATOR(create_fake_reader, FakeSchema, CreateFakeReader);

}  // namespace
}  // namespace millhopper
