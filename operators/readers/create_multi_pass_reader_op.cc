// SPDX-License-Identifier: Apache-2.0
// create_multi_pass_reader: several passes as one.
#include "operators/readers/support/reader_creation.h"
#include "readers/decorate/multi_pass_reader.h"

namespace millhopper {
namespace {

OpSchema MultiPassSchema() {
  return DecoratedReaderSchema(
             "Makes one pass of pass_num passes of a reader, each in its own order.")
      .Attr(AttributeSchema("pass_num", int32_t{}, "how many passes").Required().AtLeast(1))
      .Infer(InferSameSlots)
      .Composes(Composition::kSameSlots);
}

void CreateMultiPassReader(OpContext& context) {
  StoreReader(context, std::make_unique<MultiPassReader>(UnderlyingReader(context),
                                                         context.Attr<int32_t>("pass_num")));
}

REGISTER_OPERATOR(create_multi_pass_reader, MultiPassSchema, CreateMultiPassReader);

}  // namespace
}  // namespace millhopper
