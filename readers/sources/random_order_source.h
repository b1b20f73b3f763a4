// SPDX-License-Identifier: Apache-2.0
// Chunks of records that lie anywhere in files: the pieces of a random order.
#ifndef MILLHOPPER_READERS_SOURCES_RANDOM_ORDER_SOURCE_H_
#define MILLHOPPER_READERS_SOURCES_RANDOM_ORDER_SOURCE_H_

#include <cstddef>
#include <cstdint>

#include "framework/base/permutation.h"
#include "framework/reader/file_format.h"
#include "readers/sources/numbered_records.h"

namespace millhopper {

// A chunk holds the records at the next places of a permutation of all records, in that order. So
// the planning thread takes them one after another, while several threads fetch several chunks.
//
// Fetch reads the records of a chunk in one of three ways. Those of mapped files are copied, the
// next ones prefetched. Else, if all files together are so small that a chunk has a record in every
// 16 KB of them, and each record is one stretch of a file, they are read from their first to their
// last byte, which costs less than a call for each record; chunks are then large, about 8 MB, so
// that the files are seldom read through. Else each record is read by itself.
class RandomOrderSource final : public FileSource {
 public:
  // From this place of the order on.
  RandomOrderSource(Ref<const NumberedRecords> records, const Permutation& order, uint64_t first);

  bool Claim(Chunk* chunk) override;
  void Fetch(Chunk* chunk) const override;

  // How many chunks a thread should fetch ahead, since they may be large.
  static constexpr size_t kChunksPerThread = 1;
  // The numbers (NumberedRecords) of the records of a chunk that was fetched, in their order.
  static const uint64_t* NumbersOf(const Chunk& chunk);

 private:
  // A stretch of the order, and what stands there. Pooled.
  class Stretch;

  // Whether a chunk of so many records is read block by block.
  bool WorthBlocks(size_t records) const;
  // How many records the chunk has that begins at place next_, before the end of the order.
  size_t NextSize() const;
  // Reads each record by itself; those before an error are listed.
  void ReadEach(const PooledVector<uint64_t>& numbers, Chunk* chunk) const;
  // Reads all blocks that have a record of the chunk, in order.
  void ReadBlocks(const PooledVector<uint64_t>& numbers, char* out) const;
  void ListPieces(size_t records, Chunk* chunk) const;
  size_t blocks() const { return (count_ + block_records_ - 1) / block_records_; }

  const Ref<const NumberedRecords> records_;
  const Permutation order_;
  const uint64_t count_;
  const size_t record_bytes_;
  const size_t block_records_;  // consecutive ones, that are read together
  size_t most_records_;         // in a chunk
  // Of the claiming thread:
  uint64_t next_;
  size_t size_ = 0;  // of the last chunk
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_SOURCES_RANDOM_ORDER_SOURCE_H_
