// SPDX-License-Identifier: Apache-2.0
#include "readers/gather/bucket_reader.h"

#include <algorithm>
#include <utility>

#include "framework/base/error.h"

namespace millhopper {

BucketReader::BucketReader(std::unique_ptr<ReaderBase> reader, const BucketOptions& options)
    : CollatingReader(std::move(reader), options.collation),
      options_(options),
      slot_(CheckedSlot(options.slot)),
      buckets_(options.boundaries.size() + 1) {
  const std::vector<int64_t>& boundaries = options_.boundaries;
  for (size_t i = 1; i < boundaries.size(); ++i) {
    Require(boundaries[i - 1] < boundaries[i], "boundary ", boundaries[i], " follows ",
            boundaries[i - 1], "; boundaries must ascend");
  }
  const std::vector<int64_t>& sizes = options_.batch_sizes;
  Require(sizes.size() == 1 || sizes.size() == buckets_.size(), sizes.size(), " batch sizes for ",
          buckets_.size(), " buckets; give one for each, or one for all");
  for (const int64_t size : sizes) {
    Require(size >= 1, "a batch size is ", size, "; it must be at least 1");
  }
}

void BucketReader::Gather(const Ref<GatheredPart>& part) {
  const auto length = static_cast<int64_t>(LengthOf(*part, slot_));
  const std::vector<int64_t>& boundaries = options_.boundaries;
  const auto i = static_cast<size_t>(
      std::upper_bound(boundaries.begin(), boundaries.end(), length) - boundaries.begin());
  const std::vector<int64_t>& sizes = options_.batch_sizes;
  OpenBatch& bucket = buckets_[i];
  bucket.Add(part);
  if (bucket.size() == static_cast<size_t>(sizes[sizes.size() == 1 ? 0 : i])) Yield(bucket.Take());
}

void BucketReader::GatherRest() {
  for (OpenBatch& bucket : buckets_) {
    if (bucket.size() > 0 && !options_.discard_leftover) Yield(bucket.Take());
  }
  Forget();
}

void BucketReader::Forget() {
  for (OpenBatch& bucket : buckets_) bucket = OpenBatch();
}

void BucketReader::SaveState(ReaderState* state) const {
  CollatingReader::SaveState(state);
  state->Setting("boundaries", options_.boundaries);
  state->Setting("batch_sizes", options_.batch_sizes);
  state->Setting("slot", slot_);
  state->Setting("discard_leftover", options_.discard_leftover ? "true" : "false");
  std::vector<uint64_t> buckets;
  std::vector<const Gathered*> begun;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    if (buckets_[i].size() == 0) continue;
    buckets.push_back(i);
    begun.push_back(buckets_[i].gathered());
  }
  state->SetList("buckets", std::move(buckets));
  state->SetElements("begun", NamesOf(begun));
}

void BucketReader::RestoreState(const ReaderState& state) {
  CollatingReader::RestoreState(state);
  std::vector<Ref<Gathered>> begun = GatherAgain(state.Elements("begun"));
  const std::vector<uint64_t>& buckets = state.List("buckets");
  if (begun.size() != buckets.size()) {
    state.Fail(begun.size(), " batches in ", buckets.size(), " buckets");
  }
  for (size_t i = 0; i < begun.size(); ++i) {
    if (buckets[i] >= buckets_.size()) state.Fail("there is no bucket ", buckets[i]);
    buckets_[buckets[i]].Continue(std::move(begun[i]));
  }
}

}  // namespace millhopper
