// SPDX-License-Identifier: Apache-2.0
// One part of a reader's elements, for one of several processes.
#ifndef MILLHOPPER_READERS_SHARD_READER_H_
#define MILLHOPPER_READERS_SHARD_READER_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "framework/reader/reader.h"

namespace millhopper {

// Yields elements index, index + num_shards, index + 2 * num_shards ... of the reader below. The
// parts of all indices are disjoint and together are everything; their sizes differ by one at most.
// That holds pass for pass if the readers below are the same in all processes, seeds included.
//
// Elements of other parts are planned and not loaded: their files are read, nothing is decoded.
class ShardReader final : public DecoratedReader {
 public:
  // Throws kInvalidArgument unless 0 <= index < num_shards.
  ShardReader(std::unique_ptr<ReaderBase> reader, int64_t num_shards, int64_t index);

  size_t Ready() const override;
  std::optional<uint64_t> PassLength() const override;

 private:
  void PlanNext(size_t n, Run* run) override;
  void Rewind(uint64_t pass) override;

  const size_t num_shards_;
  const size_t index_;
  Run planned_;  // of all parts
  size_t next_;  // in planned_, or behind it
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_SHARD_READER_H_
