// SPDX-License-Identifier: Apache-2.0
// Records that all have the same size, from one file or cut from several side by side.
#ifndef MILLHOPPER_READERS_CHUNKS_FIXED_SIZE_SOURCE_H_
#define MILLHOPPER_READERS_CHUNKS_FIXED_SIZE_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "framework/io/compression/byte_stream.h"
#include "framework/reader/file_format.h"

namespace millhopper {

// A record is one piece of each column, one after another. Chunks of plain files are found by
// arithmetic and read in parallel; those of others are read in order.
class FixedSizeSource final : public FileSource {
 public:
  struct Column {
    std::unique_ptr<ByteStream> stream;  // at the first record
    size_t bytes;                        // of one record's piece
    bool in_place = true;                // the pieces are bytes of the file as they lie in it
  };
  // What becomes of an incomplete record at the end of a file.
  enum class Partial { kError, kLeftOut };

  // `count` is the number of records that the files declare; too few or too many bytes are an error
  // after the whole records. Without it there must be one column, and its end ends the records; the
  // beginning of one more is an error, too, or left out.
  FixedSizeSource(std::vector<Column> columns, std::optional<uint64_t> count,
                  Partial partial = Partial::kError);

  bool Claim(Chunk* chunk) override;
  void Fetch(Chunk* chunk) const override;
  bool Seek(uint64_t offset, std::optional<uint64_t> number) override;
  // Of plain files whose first column has bytes.
  std::optional<RecordTable> Records() const override;
  void ReadRecords(uint64_t first, size_t n, char* out) const override;

 private:
  // The most records that a chunk beginning with record `first` has.
  size_t RecordsFrom(uint64_t first) const;
  void ListPieces(Chunk* chunk, size_t records) const;
  void ReadInOrder(Chunk* chunk);
  // Reads the column that reading_ has come to; returns how many of its records are whole.
  size_t ReadColumn(char* out);
  // Throws unless the columns end with the last record.
  void CheckEnd() const;
  // The length of a column. A compressed column is read to find it, and only until the length is
  // `enough`, so the result may then be too small.
  uint64_t BytesOf(size_t column, uint64_t enough) const;

  const std::vector<Column> columns_;
  const std::optional<uint64_t> count_;
  const Partial partial_;
  std::vector<uint64_t> begins_;  // of the columns
  size_t record_bytes_ = 0;
  uint64_t records_per_chunk_ = 0;
  uint64_t records_ = 0;  // an upper bound
  bool plain_ = true;
  uint64_t next_ = 0;         // record to be claimed
  std::exception_ptr error_;  // of a read that has advanced some columns only
  // A chunk that is being read in order; if its thread leaves the work, the next call continues it.
  struct {
    Ref<Buffer> bytes;  // null if there is none
    size_t records;     // that the columns read so far have
    size_t column;      // that is read next,
    size_t whole;       // from this record on, of several columns
    size_t bytes_read;  // of the only column
  } reading_ = {};
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_CHUNKS_FIXED_SIZE_SOURCE_H_
