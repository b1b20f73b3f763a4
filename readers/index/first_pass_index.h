// SPDX-License-Identifier: Apache-2.0
// Indexes (chunk_index.h) that readers can leave when they have read a file without one: the same
// that `recordio index` would make, for later readers.
#ifndef MILLHOPPER_READERS_INDEX_FIRST_PASS_INDEX_H_
#define MILLHOPPER_READERS_INDEX_FIRST_PASS_INDEX_H_

#include <memory>
#include <string>

#include "framework/io/file.h"
#include "framework/reader/file_format.h"
#include "readers/index/indexable_format.h"

namespace millhopper {

// Whether a file that has no index is to get one (FirstPassIndexes). It gets none if its file
// system does not tell versions apart. If it is not local and no cache is used, that is warned of
// as LeavingIndex warns. Throws kIo if a link leads from its place to a file that does not exist.
// Any thread.
bool IsIndexDue(const File& file);

// A source that does what another one does, and leaves the index of its file when every chunk has
// been claimed and fetched: beside a local file, or in the cache of the process if it lies
// elsewhere or cannot have one there. Nothing is left if a chunk could not be fetched or was left
// out, or if the file has changed meanwhile; errors within a record do not matter. No file is
// replaced. An index that cannot be written is no error, and the first one in the process is a
// warning on standard error.
//
// Of a plain file whose index has a table.
std::unique_ptr<FileSource> LeavingIndex(std::unique_ptr<IndexableSource> source,
                                         const std::string& rules);
// Of a file whose chunks tell how many records they have; of one that is compressed no index is
// left. `file` was opened before the source.
std::unique_ptr<FileSource> LeavingIndex(std::unique_ptr<FileSource> source,
                                         std::unique_ptr<const File> file,
                                         const std::string& rules);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_INDEX_FIRST_PASS_INDEX_H_
