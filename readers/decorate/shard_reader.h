// SPDX-License-Identifier: Apache-2.0
// Yields one process's part of a reader's elements.
#ifndef MILLHOPPER_READERS_DECORATE_SHARD_READER_H_
#define MILLHOPPER_READERS_DECORATE_SHARD_READER_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "framework/reader/reader.h"

namespace millhopper {

// Which elements belong to a shard. In each pass the parts of all indices are disjoint and together
// complete, if the readers below are the same in all processes, seeds included. Elements keep the
// names (RecordId) that they have in the whole.
enum class ShardBy {
  // Elements index, index + num_shards, index + 2 * num_shards ... of any reader below. The sizes
  // of the parts differ by one at most, and not at all if they are to be even. Elements of other
  // parts are planned but not loaded: their files are read, but the records are not decoded.
  kRecord,
  // The records of chunks of files: of chunk c of file f if (f + c) % num_shards is the index.
  // Chunks of other shards are not read, except their headers, and the first chunk of a file whose
  // layout only its content tells. The sizes of the parts differ as chunks do. The reader below
  // must be one of files that no other reader reads, and their format must know how many records a
  // chunk has before it is read: recordio, idx and fixed do, text does with an index.
  kChunk,
};

// What becomes of the last round of a pass if it is not complete. A round is num_shards elements of
// the reader below, one for each shard.
enum class ShardEven {
  kNone,  // the first shards get one element more than the others
  // Every shard gets an element: the pass continues with its own first elements, as often as
  // needed, as torch's DistributedSampler does. Of `total` elements, shard `index` gets number (k *
  // num_shards + index) % total in round k, for every k with k * num_shards < total. An empty pass
  // stays empty.
  kPad,
  kDrop,  // no shard gets an element
};

// Yields the elements of one shard.
class ShardReader final : public DecoratedReader {
 public:
  // Throws kInvalidArgument unless 0 <= index < num_shards, for a reader whose chunks cannot be
  // shared, and for chunks with `even`: how many records each shard has is then not known.
  ShardReader(std::unique_ptr<ReaderBase> reader, int64_t num_shards, int64_t index,
              ShardBy by = ShardBy::kRecord, ShardEven even = ShardEven::kNone);

  size_t ElementsReady() const override;
  // The elements of this process are divided again, such as among workers, of which others may have
  // other numbers.
  void ExpectRanks(size_t, size_t) override {}
  std::optional<uint64_t> PassLength() const override;

 private:
  void PlanNext(size_t n, TicketRun* run) override;
  void Rewind(uint64_t pass) override;
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;

  // Adds the shard's element of the last round, if that round lacks one for it.
  void Pad(TicketRun* run);

  // 1 if the reader below yields only this shard's elements (kChunk).
  const size_t num_shards_;
  const size_t index_;
  const ShardEven even_;
  // How many later elements of its round must be planned before an own element is handed out: with
  // kDrop all that follow it, otherwise none.
  const size_t behind_;
  TicketRun planned_;  // elements of all parts
  // Index, in planned_ or beyond its end, of the element that comes `behind_` elements after the
  // next own one.
  size_t awaited_;
  TicketRun own_;        // the next own element, if it was planned before planned_
  TicketRun first_;      // kPad: the first elements of the pass, index_ at most
  uint64_t passed_ = 0;  // elements planned before planned_
  bool is_padded_ = false;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_DECORATE_SHARD_READER_H_
