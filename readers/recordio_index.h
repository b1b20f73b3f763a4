// SPDX-License-Identifier: Apache-2.0
// Indexes (chunk_index.h) of RecordIO files. The headers of their chunks tell where the next one
// begins, and how many records each has, so what an index adds is their number in the whole file,
// as a manifest does; it is noticed when that is another.
#ifndef MILLHOPPER_READERS_RECORDIO_INDEX_H_
#define MILLHOPPER_READERS_RECORDIO_INDEX_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "readers/chunk_index.h"
#include "readers/recordio_manifest.h"

namespace millhopper {

// Reads the headers of a file, and adds to *bytes, which any thread may read, those of the chunks
// that it has passed. Throws what RecordIOFile throws.
ChunkIndex MakeRecordIOIndex(const std::string& path, std::atomic<uint64_t>* bytes);

// What the file's index says, if it has one. Throws what ReadTotals throws.
std::optional<RecordIOPromise> PromiseByIndex(const std::string& path);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_RECORDIO_INDEX_H_
