// SPDX-License-Identifier: Apache-2.0
// An index lists the chunks of a file and how many records each has, for formats in which only
// reading tells that. `recordio index` writes it beside the file, as <file>.mhi, and readers of
// local files look for it there. Readers can leave one, too (first_pass_index.h), also in a cache
// (cached_index.h). readers/formats/README.md has it byte by byte.
//
// An index is never trusted: its own checksums must be right, the file must still have its size and
// its first and last bytes, and the bytes of each chunk must have their checksum before a record of
// the chunk is given out (indexable_format.h). So an index that is older than its file is an error,
// and never yields another record.
#ifndef MILLHOPPER_READERS_INDEX_CHUNK_INDEX_H_
#define MILLHOPPER_READERS_INDEX_CHUNK_INDEX_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/io/file.h"

namespace millhopper {

constexpr char kIndexSuffix[] = ".mhi";

// A chunk begins where the one before it ends.
struct IndexedChunk {
  uint32_t length;    // in the file
  uint32_t records;   // before any is left out because a field of it is missing
  uint64_t checksum;  // XXH3-64 of the bytes that decide which records they are
};

struct ChunkIndex {
  static constexpr uint64_t kMaxBytes = uint64_t{1} << 30;  // of an index

  // Which rules found the records, such as "tsv, header".
  std::string rules;
  uint64_t file_bytes = 0;
  uint64_t ends = 0;  // EndsOf the file
  uint64_t records = 0;
  std::vector<IndexedChunk> chunks;  // none if the file itself tells them

  // XXH3-64 of the first and the last bytes of a file, which another file has only by chance. How
  // many depends on its size alone. Throws what File::Read throws.
  static uint64_t EndsOf(const File& file);
  std::string ToBytes() const;
};

// Where the index of a file is, if it has one.
std::string IndexPathOf(const std::string& file);
// Whether a file lies where an index is looked for: in the local file system.
bool MayHaveIndex(const std::string& file);
// The path of the index that lies beside a file; nothing if there is none, or if the file can be
// read once only.
std::optional<std::string> FindIndex(const std::string& file);

// Whether a file is such an index, by its first bytes. Throws what File::Open throws.
bool IsChunkIndex(const std::string& path);
// By which rules an index was made. Throws kDataLoss if its head is damaged, and kIo.
std::string RulesOf(const std::string& path);
// Reads an index of which every chunk is known; nothing if it was made by other rules. Throws
// kDataLoss if it is damaged or does not fit the file any more, and kIo.
std::optional<ChunkIndex> ReadIndex(const File& index, const File& file, std::string_view rules);
// The same, but only how many records it tells.
std::optional<uint64_t> ReadCount(const File& index, const File& file, std::string_view rules);

// Throws the error for an index that does not fit its file, at this byte of the file.
[[noreturn]] void FailStale(const std::string& index_path, const std::string& file_path,
                            const std::string& problem, uint64_t offset);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_INDEX_CHUNK_INDEX_H_
