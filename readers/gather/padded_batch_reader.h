// SPDX-License-Identifier: Apache-2.0
// Makes batches of sequences that are padded to one length.
#ifndef MILLHOPPER_READERS_GATHER_PADDED_BATCH_READER_H_
#define MILLHOPPER_READERS_GATHER_PADDED_BATCH_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "framework/memory/memory.h"
#include "readers/gather/collating_reader.h"

namespace millhopper {

// Makes one element of batch_size elements of the reader below. The last batch of a pass may be
// shorter; with discard_leftover such a batch is left out.
class PaddedBatchReader final : public CollatingReader {
 public:
  // Throws kInvalidArgument for a batch_size below 1, and as CollatingReader does.
  PaddedBatchReader(std::unique_ptr<ReaderBase> reader, int64_t batch_size, bool discard_leftover,
                    const CollationOptions& collation);

  std::optional<uint64_t> PassLength() const override;
  void ExpectRanks(size_t ranks, size_t run) override {
    reader().ExpectRanks(ranks, CheckedProduct(run, batch_size_));
  }

  void TakeBack(SavedRank* saved, ReaderState* state) const override;

 private:
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;
  void Gather(const Ref<GatheredPart>& part) override;
  void GatherRest() override;
  void Forget() override {
    batch_ = OpenBatch();
    ends_passes_ = false;
  }
  void Add(const Ref<GatheredPart>& part);

  const size_t batch_size_;
  const bool discard_leftover_;
  OpenBatch batch_;
  // Whether elements of a position may be of another pass than the next one, so that a batch must
  // not have some of both.
  bool ends_passes_ = false;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_GATHER_PADDED_BATCH_READER_H_
