// SPDX-License-Identifier: Apache-2.0
// Fuzzes blocks of snappy's format: they are refused, or expand to the same bytes, as by libsnappy.
// The first two bytes are the size that is asked for; the block is made to declare it.
#include <snappy.h>

#include <string>
#include <vector>

#include "readers/packed_numbers.h"
#include "readers/snappy_block.h"
#include "tests/fuzz/target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  millhopper::PackedBytes elements{data, data + size};
  uint32_t expanded;
  if (!elements.TakeLittleEndian(2, &expanded)) return 0;
  std::string block;
  for (uint32_t left = expanded;; left >>= 7) {
    block += static_cast<char>((left & 0x7f) | (left < 0x80 ? 0 : 0x80));
    if (left < 0x80) break;
  }
  block.append(elements.begin, elements.end);
  // Memory of exactly these sizes, so that a sanitizer sees an access beyond it.
  const std::vector<char> in(block.begin(), block.end());
  std::vector<char> ours(expanded), theirs(expanded);
  const bool sound = millhopper::ExpandSnappyBlock(in.data(), in.size(), ours.data(), ours.size());
  CHECK_EQ(sound, snappy::RawUncompress(in.data(), in.size(), theirs.data()));
  CHECK(!sound || ours == theirs);
  return 0;
}
