// SPDX-License-Identifier: Apache-2.0
// Indexes (chunk_index.h) of files that have none beside them, in the cache of the process
// (remote_cache.h). An index belongs to the content that the file had when the index was made; for
// other content, as far as the file system tells contents apart, there is none.
#ifndef MILLHOPPER_READERS_INDEX_CACHED_INDEX_H_
#define MILLHOPPER_READERS_INDEX_CACHED_INDEX_H_

#include <memory>
#include <string>

#include "framework/io/file.h"
#include "readers/index/chunk_index.h"

namespace millhopper {

// Whether a cache is used that has an index of the file by these rules, perhaps one for other
// content. The file is not looked at.
bool MayHaveCachedIndex(const std::string& path, const std::string& rules);
// The index in the cache of an open file; null if there is none.
std::unique_ptr<const File> FindCachedIndex(const File& file, const std::string& rules);
// Keeps the index of an open file, if the cache takes it. Throws kInvalidArgument if no cache is
// used, and kResourceLimit for an index that is larger than what a cache keeps.
void CacheIndex(const File& file, const ChunkIndex& index);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_INDEX_CACHED_INDEX_H_
