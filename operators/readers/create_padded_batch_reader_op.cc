// SPDX-License-Identifier: Apache-2.0
// create_padded_batch_reader: makes batches of sequences that are padded to one length.
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "operators/readers/support/collation_attributes.h"
#include "operators/readers/support/reader_creation.h"
#include "operators/readers/support/reader_variable.h"
#include "readers/gather/padded_batch_reader.h"
#include "readers/lanes/lanes_reader.h"

namespace millhopper {
namespace {

OpSchema PaddedBatchSchema() {
  return WithCollation(
      DecoratedReaderSchema("Joins every batch_size elements of a reader into one, and pads the "
                            "sequences of slots with one level of detail to one length: such a "
                            "slot becomes [elements, length, ...] without levels. A slot with "
                            "several levels is an error. Like tf.data.Dataset.padded_batch.")
          .Attr(
              AttributeSchema("batch_size", int64_t{}, "elements in a batch").Required().AtLeast(1))
          .Attr(DiscardLeftoverAttribute("leave out a last batch that is not full")),
      false);
}

void CreatePaddedBatchReader(OpContext& context) {
  auto size = context.Attr<int64_t>("batch_size");
  std::unique_ptr<ReaderBase> below;
  if (std::optional<LaneSet> lanes = ReaderOf(context, "UnderlyingReader").TakeLanes()) {
    size = static_cast<int64_t>(ShareOfBatch(static_cast<size_t>(size), 1, *lanes));
    below = std::make_unique<LanesReader>(*std::move(lanes));
  } else {
    below = UnderlyingReader(context);
  }
  StoreReader(context, std::make_unique<PaddedBatchReader>(std::move(below), size,
                                                           context.Attr<bool>("discard_leftover"),
                                                           CollationOf(context.attributes())));
}

REGISTER_OPERATOR(create_padded_batch_reader, PaddedBatchSchema, CreatePaddedBatchReader);

}  // namespace
}  // namespace millhopper
