// SPDX-License-Identifier: Apache-2.0
// Makes batches of elements of similar length.
#ifndef MILLHOPPER_READERS_GATHER_BUCKET_READER_H_
#define MILLHOPPER_READERS_GATHER_BUCKET_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "readers/gather/collating_reader.h"

namespace millhopper {

struct BucketOptions {
  // Ascending. Bucket 0 is for lengths below the first, bucket i for those of at least boundary
  // i - 1 and below boundary i, the last for all others.
  std::vector<int64_t> boundaries;
  // The elements of a batch: for each bucket, of which there is one more than boundaries, or for
  // all.
  std::vector<int64_t> batch_sizes;
  int64_t slot = 0;  // the slot whose length counts
  bool discard_leftover = false;
  CollationOptions collation;
};

// Puts each element into the bucket for its length along axis 0, and yields a bucket as a batch as
// soon as it is full. At the end of a pass it yields what is left, in the order of the buckets, or,
// with discard_leftover, drops it.
class BucketReader final : public CollatingReader {
 public:
  // Throws kInvalidArgument for boundaries that do not ascend, for sizes that do not suit them, for
  // a slot that there is not, and as CollatingReader does.
  BucketReader(std::unique_ptr<ReaderBase> reader, const BucketOptions& options);

 private:
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;
  void Gather(const Ref<GatheredPart>& part) override;
  void GatherRest() override;
  void Forget() override;

  const BucketOptions options_;
  const size_t slot_;
  std::vector<OpenBatch> buckets_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_GATHER_BUCKET_READER_H_
