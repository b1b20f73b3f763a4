// SPDX-License-Identifier: Apache-2.0
// Files whose records can only be found by reading them in order, but that have an index.
#ifndef MILLHOPPER_READERS_INDEX_INDEXED_SOURCE_H_
#define MILLHOPPER_READERS_INDEX_INDEXED_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "framework/io/compression/byte_stream.h"
#include "framework/reader/file_format.h"

namespace millhopper {

constexpr size_t kMostIndexedRecords = 1 << 16;  // in a chunk

// Where records begin in the file, by its index.
struct RecordBegins {
  const uint64_t* offsets = nullptr;  // null if there is no index
  size_t count = 0;
};

// Throws kInvalidArgument if the file is compressed or can be read once only, so that an index of
// its records is of no use.
void CheckCanBeIndexed(const ByteStream& stream);

// Claims stretches of whole records by arithmetic. A format reads and lists them in Fetch.
class IndexedSource : public FileSource {
 public:
  // `begins` are in order; a record extends to the next one, or to the end of the file. A record
  // with its frame has `most_bytes` at most. If `all_are_listed`, chunks tell their number of
  // records.
  IndexedSource(std::unique_ptr<ByteStream> stream, std::vector<uint64_t> begins,
                uint64_t most_bytes, bool all_are_listed);

  bool Claim(Chunk* chunk) final;
  bool Seek(uint64_t offset, std::optional<uint64_t> number) final;

 protected:
  const ByteStream& stream() const { return *stream_; }
  // Those of a claimed chunk.
  RecordBegins BeginsIn(const Chunk& chunk) const;

 private:
  uint64_t End(size_t record) const;

  const std::unique_ptr<ByteStream> stream_;
  const std::vector<uint64_t> begins_;
  const uint64_t most_bytes_;
  const bool all_are_listed_;
  size_t next_ = 0;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_INDEX_INDEXED_SOURCE_H_
