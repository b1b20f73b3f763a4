// SPDX-License-Identifier: Apache-2.0
// create_dedupe_reader: leaves out elements that were seen before.
#include <vector>

#include "operators/readers/support/reader_creation.h"
#include "readers/gather/dedupe_reader.h"

namespace millhopper {
namespace {

using Longs = std::vector<int64_t>;

OpSchema DedupeSchema() {
  return DecoratedReaderSchema(
             "Leaves out elements that equal an earlier element of the pass, byte for byte, as "
             "their 128-bit XXH3 digests tell.")
      .Attr(AttributeSchema("slots", Longs{}, "the slots that are compared, from 0; by default all")
                .Optional()
                .NumbersSlots())
      .Attr(AttributeSchema("entries", int64_t{1} << 20,
                            "digests that are kept, of 24 to 32 bytes each, which count towards "
                            "the memory limit: an element for which it has no room is an error. "
                            "Beyond that number the digest that was inserted first is forgotten")
                .AtLeast(1))
      .LaneWise()
      .Infer(InferSameSlots)
      .Composes(Composition::kSameSlots);
}

void CreateDedupeReader(OpContext& context) {
  StoreLaneWise(context, [&context](std::unique_ptr<ReaderBase> below, LaneNumber) {
    return std::make_unique<DedupeReader>(std::move(below), context.Attr<Longs>("slots"),
                                          context.Attr<int64_t>("entries"));
  });
}

REGISTER_OPERATOR(create_dedupe_reader, DedupeSchema, CreateDedupeReader);

}  // namespace
}  // namespace millhopper
