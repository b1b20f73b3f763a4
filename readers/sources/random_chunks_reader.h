// SPDX-License-Identifier: Apache-2.0
// Reads the chunks of files in a random order: open_files with shuffle_chunks.
#ifndef MILLHOPPER_READERS_SOURCES_RANDOM_CHUNKS_READER_H_
#define MILLHOPPER_READERS_SOURCES_RANDOM_CHUNKS_READER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "framework/base/permutation.h"
#include "framework/base/random.h"
#include "framework/base/ref_counted.h"
#include "framework/reader/file_reader.h"

namespace millhopper {

// Yields the records of all files chunk by chunk, each chunk once and its records in their order.
// The order of the chunks is Permutation(chunks, key, pass), whose numbers count through the files
// in the order of the list. A few chunks are read ahead; of all others it holds what Claim says of
// them, about 100 bytes a chunk, and in formats whose Claim lists records (tar, mds, lists of
// files) as many bytes a record as these take. All files are open in a pass; where descriptors are
// few, they are closed and opened again (File).
//
// Elements have the file, the chunk and the record that they have in any other order.
class RandomChunksReader final : public FileReader {
 public:
  // Throws kInvalidArgument for an empty list, and kIo with the names of all files that are
  // missing; reads nothing. When the first element is planned, all chunks are claimed: a file that
  // is a stream is an error then (kInvalidArgument), and so is one whose chunks cannot be found.
  RandomChunksReader(std::unique_ptr<FileFormat> format, std::vector<FileEntry> entries,
                     ReadAhead read_ahead, const RandomKey& key);
  ~RandomChunksReader() override;

 private:
  class Table;
  class OneChunk;
  // A chunk that is read ahead.
  struct Waiting {
    Ref<ChunkQueue> queue;
    uint64_t place;     // of the chunk in the order
    uint64_t left_out;  // records of the chunks of other shares that come before it
  };

  void PlanNext(size_t n, TicketRun* run) override;
  void Rewind(uint64_t pass) override;
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;
  // Claims the chunks and puts them in the order of the pass, unless that is done.
  void Begin();
  // Claims the chunks of all files.
  std::shared_ptr<const Table> ClaimAll();
  void ReadAheadInOrder();

  const RandomKey key_;
  uint64_t pass_ = 0;
  std::shared_ptr<const Table> table_;  // null before the first element of the pass is planned
  std::optional<Permutation> order_;    // set with table_
  uint64_t next_ = 0;                   // place in the order
  uint64_t left_out_ = 0;               // of the next chunk that is read ahead
  std::deque<Waiting> waiting_;         // the first is planned from
  uint64_t taken_ = 0;                  // records of the first
  uint64_t sample_ = 0;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_SOURCES_RANDOM_CHUNKS_READER_H_
