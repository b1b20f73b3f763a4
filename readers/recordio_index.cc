// SPDX-License-Identifier: Apache-2.0
#include "readers/recordio_index.h"

#include <memory>

#include "framework/base/stop.h"
#include "framework/io/file.h"
#include "readers/recordio_file.h"

namespace millhopper {
namespace {

constexpr char kRules[] = "recordio";

}  // namespace

ChunkIndex MakeRecordIOIndex(const std::string& path, std::atomic<uint64_t>* bytes) {
  ChunkIndex index;
  index.rules = kRules;
  const std::unique_ptr<const File> opened = File::Open(path);
  index.file_bytes = opened->size();
  index.ends = ChunkIndex::EndsOf(*opened);
  RecordIOFile file(path);
  for (;;) {
    CheckStop();
    const Ref<Chunk> chunk = Pool<Chunk>::Take();
    if (!file.Claim(chunk.get())) return index;
    // Each chunk has a checksum of its own.
    index.chunks.push_back({static_cast<uint32_t>(chunk->length),
                            static_cast<uint32_t>(*chunk->records), file.Header(*chunk).checksum});
    *bytes += chunk->length;
  }
}

std::optional<RecordIOPromise> PromiseByIndex(const std::string& path) {
  const std::optional<std::string> index = FindIndex(path);
  if (!index) return std::nullopt;
  const std::optional<IndexTotals> totals = ReadTotals(*index, *File::Open(path), kRules);
  if (!totals) return std::nullopt;
  RecordIOPromise promise;
  promise.counts = {totals->bytes, totals->chunks, totals->records};
  promise.index = *index;
  return promise;
}

}  // namespace millhopper
