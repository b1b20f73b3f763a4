// SPDX-License-Identifier: Apache-2.0
// create_skip_reader: all but the first elements of every pass.
#include "operators/reader_creation.h"
#include "readers/skip_reader.h"

namespace millhopper {
namespace {

OpSchema SkipSchema() {
  return DecoratedReaderSchema("Leaves out the first count elements of every pass of a reader.")
      .Attr(AttributeSchema("count", int64_t{0}, "how many are left out").Required().AtLeast(0))
      .Infer(InferSameSlots);
}

void CreateSkipReader(OpContext& context) {
  StoreReader(context, std::make_unique<SkipReader>(UnderlyingReader(context),
                                                    context.Attr<int64_t>("count")));
}

REGISTER_OPERATOR(create_skip_reader, SkipSchema, CreateSkipReader);

}  // namespace
}  // namespace millhopper
