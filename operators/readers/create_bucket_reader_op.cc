// SPDX-License-Identifier: Apache-2.0
// create_bucket_reader: makes batches of elements of similar length.
#include <vector>

#include "operators/readers/support/collation_attributes.h"
#include "operators/readers/support/reader_creation.h"
#include "readers/gather/bucket_reader.h"

namespace millhopper {
namespace {

using Longs = std::vector<int64_t>;

OpSchema BucketSchema() {
  return WithCollation(
      DecoratedReaderSchema("Gathers elements of similar length in buckets, and yields each bucket "
                            "as a batch when it is full. Such batches need little padding. An "
                            "element that holds several sequences is an error. Like "
                            "tf.data.Dataset.bucket_by_sequence_length.")
          .Attr(AttributeSchema("boundaries", Longs{},
                                "ascending lengths: bucket 0 is for lengths below the first, the "
                                "last bucket for those of at least the last")
                    .Required()
                    .AtLeast(1))
          .Attr(AttributeSchema("batch_sizes", Longs{},
                                "elements in a batch: for each bucket, one more than boundaries, "
                                "or one number for all")
                    .Required()
                    .AtLeast(1))
          .Attr(AttributeSchema("slot", int64_t{0},
                                "the slot whose length along axis 0 counts, from 0")
                    .NumbersSlots())
          .Attr(DiscardLeftoverAttribute(
              "leave out the batches that are not full at the end of a pass"))
          .LaneWise(),
      true);
}

void CreateBucketReader(OpContext& context) {
  BucketOptions options;
  options.boundaries = context.Attr<Longs>("boundaries");
  options.batch_sizes = context.Attr<Longs>("batch_sizes");
  options.slot = context.Attr<int64_t>("slot");
  options.discard_leftover = context.Attr<bool>("discard_leftover");
  options.collation = CollationOf(context.attributes());
  StoreLaneWise(context, [&options](std::unique_ptr<ReaderBase> below, LaneNumber) {
    return std::make_unique<BucketReader>(std::move(below), options);
  });
}

REGISTER_OPERATOR(create_bucket_reader, BucketSchema, CreateBucketReader);

}  // namespace
}  // namespace millhopper
