// SPDX-License-Identifier: Apache-2.0
// Records that all have the same size, from one file or cut from several side by side.
#ifndef MILLHOPPER_READERS_FIXED_SIZE_SOURCE_H_
#define MILLHOPPER_READERS_FIXED_SIZE_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "framework/io/byte_stream.h"
#include "framework/reader/file_format.h"

namespace millhopper {

// A record is one piece of each column, one behind another. Chunks of plain files are found by
// arithmetic and read in parallel; compressed ones are read in order.
class FixedSizeSource final : public FileSource {
 public:
  struct Column {
    std::unique_ptr<ByteStream> stream;  // at the first record
    size_t bytes;                        // of a piece
  };
  // `count` is how many records the files claim to have: too few or too many bytes are an error
  // behind the records that are whole. Without it records go on to the end of the only column.
  FixedSizeSource(std::vector<Column> columns, std::optional<uint64_t> count);

  bool Claim(Chunk* chunk) override;
  void Fetch(Chunk* chunk) const override;

 private:
  // How many records the chunk that begins with this one has at most.
  size_t RecordsFrom(uint64_t first) const;
  void ListPieces(Chunk* chunk, size_t records) const;
  void ReadInOrder(Chunk* chunk);
  // Throws unless the columns end with the last record.
  void CheckEnd() const;
  // The length of a column; of a compressed one, which must be read to know it, it may be less than
  // the truth once it is `enough`.
  uint64_t BytesOf(size_t column, uint64_t enough) const;

  const std::vector<Column> columns_;
  const std::optional<uint64_t> count_;
  std::vector<uint64_t> begins_;  // of the columns
  size_t record_bytes_ = 0;
  uint64_t records_per_chunk_ = 0;
  uint64_t records_ = 0;  // that there can be
  bool plain_ = true;
  uint64_t next_ = 0;  // record to be claimed
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FIXED_SIZE_SOURCE_H_
