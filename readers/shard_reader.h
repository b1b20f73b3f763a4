// SPDX-License-Identifier: Apache-2.0
// One part of a reader's elements, for one of several processes.
#ifndef MILLHOPPER_READERS_SHARD_READER_H_
#define MILLHOPPER_READERS_SHARD_READER_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "framework/reader/reader.h"

namespace millhopper {

// What belongs to a shard. The parts of all indices are disjoint and together are everything, pass
// for pass, if the readers below are the same in all processes, seeds included. Elements keep the
// names (RecordId) that they have in the whole.
enum class ShardBy {
  // Elements index, index + num_shards, index + 2 * num_shards ... of the reader below, whatever it
  // is. The sizes of the parts differ by one at most. Elements of other parts are planned and not
  // loaded: their files are read, nothing is decoded.
  kRecord,
  // The records of chunks of files: of chunk c of file f if (f + c) % num_shards is the index. What
  // others read is not read here, but for headers, and the first chunk of a file whose layout only
  // its content tells. The sizes of the parts differ as chunks do. The reader below must read files
  // and be read by nobody else, and their format must know how many records a chunk has before it
  // is read: recordio, idx and fixed do, text does not.
  kChunk,
};

// Yields the part of one process among several.
class ShardReader final : public DecoratedReader {
 public:
  // Throws kInvalidArgument unless 0 <= index < num_shards, and for a reader whose chunks cannot be
  // shared.
  ShardReader(std::unique_ptr<ReaderBase> reader, int64_t num_shards, int64_t index,
              ShardBy by = ShardBy::kRecord);

  size_t ElementsReady() const override;
  std::optional<uint64_t> PassLength() const override;

 private:
  void PlanNext(size_t n, TicketRun* run) override;
  void Rewind(uint64_t pass) override;

  // Of the elements that the reader below yields: 1 where it yields the shard alone.
  const size_t num_shards_;
  const size_t index_;
  TicketRun planned_;  // of all parts
  size_t next_;        // in planned_, or behind it
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_SHARD_READER_H_
