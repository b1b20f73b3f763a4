// SPDX-License-Identifier: Apache-2.0
// create_fake_reader: the first element again and again.
#include "operators/readers/support/reader_creation.h"
#include "readers/decorate/fake_reader.h"

namespace millhopper {
namespace {

OpSchema FakeSchema() {
  return DecoratedReaderSchema(
             "Yields the first element of every pass of a reader count times, to measure what a "
             "program does besides reading.")
      .Attr(AttributeSchema("count", int64_t{0}, "elements in a pass").Required().AtLeast(0))
      .Infer(InferSameSlots);
}

void CreateFakeReader(OpContext& context) {
  StoreReader(context, std::make_unique<FakeReader>(UnderlyingReader(context),
                                                    context.Attr<int64_t>("count")));
}

REGISTER_OPERATOR(create_fake_reader, FakeSchema, CreateFakeReader);

}  // namespace
}  // namespace millhopper
