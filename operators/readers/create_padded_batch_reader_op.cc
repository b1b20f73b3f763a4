// SPDX-License-Identifier: Apache-2.0
// create_padded_batch_reader: makes batches of sequences that are padded to one length.
#include "operators/readers/support/collation_attributes.h"
#include "operators/readers/support/reader_creation.h"
#include "readers/gather/padded_batch_reader.h"

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
  StoreReader(context, std::make_unique<PaddedBatchReader>(UnderlyingReader(context),
                                                           context.Attr<int64_t>("batch_size"),
                                                           context.Attr<bool>("discard_leftover"),
                                                           CollationOf(context.attributes())));
}

REGISTER_OPERATOR(create_padded_batch_reader, PaddedBatchSchema, CreatePaddedBatchReader);

}  // namespace
}  // namespace millhopper
