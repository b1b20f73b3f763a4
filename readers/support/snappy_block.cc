// SPDX-License-Identifier: Apache-2.0
#include "readers/support/snappy_block.h"

#include <snappy.h>

namespace millhopper {

bool ExpandSnappyBlock(const char* block, size_t size, char* out, size_t expanded) {
  size_t length;
  return snappy::GetUncompressedLength(block, size, &length) && length == expanded &&
         snappy::RawUncompress(block, size, out);
}

}  // namespace millhopper
