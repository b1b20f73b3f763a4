// SPDX-License-Identifier: Apache-2.0
#include "readers/index/index_builder.h"

#include <algorithm>

#include "framework/base/error.h"
#include "framework/base/limits.h"

namespace millhopper {

void IndexBuilder::Add(const Chunk& claimed, const std::string& path) {
  if (lists_chunks_ && claimed.length > kMaxChunkBytes) {
    throw Error(ErrorCode::kResourceLimit,
                StrCat("a chunk of ", claimed.length, " bytes cannot be indexed; the limit is ",
                       kMaxChunkBytes))
        .InFile(path, static_cast<int64_t>(claimed.offset));
  }
  chunks_.push_back({claimed.offset, claimed.length, claimed.records.value_or(0)});
}

void IndexBuilder::SetFetched(const Chunk& fetched, uint64_t checksum) {
  const auto found =
      std::lower_bound(chunks_.begin(), chunks_.end(), fetched.offset,
                       [](const Found& chunk, uint64_t begin) { return chunk.begin < begin; });
  found->records = fetched.pieces.size();
  found->checksum = checksum;
  if (!found->fetched) ++fetched_;
  found->fetched = true;
}

ChunkIndex IndexBuilder::Build(const File& file) const {
  ChunkIndex index;
  index.rules = rules_;
  index.file_bytes = file.size();
  index.ends = ChunkIndex::EndsOf(file);
  uint64_t end = 0;
  for (const Found& found : chunks_) {
    index.records += found.records;
    end = found.begin + found.length;
    if (!lists_chunks_) continue;
    index.chunks.push_back({static_cast<uint32_t>(found.length),
                            static_cast<uint32_t>(found.records), found.checksum});
  }
  if (lists_chunks_ && end != index.file_bytes) {
    throw Error(ErrorCode::kDataLoss, StrCat("its chunks end at byte ", end, " of ",
                                             index.file_bytes, "; it changed while it was read"))
        .InFile(file.path(), static_cast<int64_t>(end));
  }
  return index;
}

}  // namespace millhopper
