// SPDX-License-Identifier: Apache-2.0
// Builds the index of a file (chunk_index.h) from what is found when its chunks are read.
#ifndef MILLHOPPER_READERS_INDEX_INDEX_BUILDER_H_
#define MILLHOPPER_READERS_INDEX_INDEX_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "framework/io/file.h"
#include "framework/reader/file_format.h"
#include "readers/index/chunk_index.h"

namespace millhopper {

// One thread at a time.
class IndexBuilder {
 public:
  // `rules` found the records. With `lists_chunks` the index has a table, and Claim need not tell
  // how many records a chunk has.
  IndexBuilder(std::string rules, bool lists_chunks)
      : rules_(std::move(rules)), lists_chunks_(lists_chunks) {}

  // Adds the chunk that Claim has found after those before it. Throws kResourceLimit, with the
  // path, for one of more than kMaxChunkBytes.
  void Add(const Chunk& claimed, const std::string& path);
  // Adds what Fetch has found in one of them, and the checksum of the bytes that decide it. A chunk
  // may be fetched again.
  void SetFetched(const Chunk& fetched, uint64_t checksum);
  bool all_fetched() const { return fetched_ == chunks_.size(); }
  // The index of the file, which has been read from its beginning to its end. Throws kDataLoss if
  // the chunks end elsewhere, and what File::Read throws.
  ChunkIndex Build(const File& file) const;

 private:
  struct Found {
    uint64_t begin, length, records;
    uint64_t checksum = 0;
    bool fetched = false;
  };

  const std::string rules_;
  const bool lists_chunks_;
  std::vector<Found> chunks_;
  size_t fetched_ = 0;  // of them
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_INDEX_INDEX_BUILDER_H_
