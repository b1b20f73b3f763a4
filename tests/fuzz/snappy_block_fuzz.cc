// SPDX-License-Identifier: Apache-2.0
// Fuzzes blocks of snappy's format: they are refused, or expand to the same bytes, as by libsnappy.
// The first two bytes are the size that is asked for; the block is made to declare it.
#include <snappy.h>

#include <algorithm>
#include <string>
#include <vector>

#include "readers/packed_numbers.h"
#include "readers/snappy_block.h"
#include "tests/fuzz/target.h"

namespace millhopper {
namespace {

// Some text that repeats itself, as it is and as a block.
struct OtherBlock {
  OtherBlock() {
    for (int i = 0; i < 300; ++i) content += std::to_string(i * i);
    snappy::Compress(content.data(), content.size(), &block);
  }

  std::string content, block;
};

void Fuzz(const std::string& block, size_t expanded) {
  // Memory of exactly these sizes, so that a sanitizer sees an access beyond it.
  const std::vector<char> in(block.begin(), block.end());
  std::vector<char> ours(expanded), theirs(expanded);
  const SnappyBlock whole{in.data(), in.size(), ours.data(), ours.size()};
  const bool sound = ExpandSnappyBlock(whole);
  CHECK_EQ(sound, snappy::RawUncompress(in.data(), in.size(), theirs.data()));
  CHECK(!sound || ours == theirs);

  static const auto* const kOther = new OtherBlock;
  std::vector<char> other_out(kOther->content.size());
  const SnappyBlock other{kOther->block.data(), kOther->block.size(), other_out.data(),
                          other_out.size()};
  std::fill(ours.begin(), ours.end(), '\0');
  CHECK_EQ(sound, ExpandSnappyBlocks(whole, other));
  CHECK(!sound || (ours == theirs &&
                   std::equal(other_out.begin(), other_out.end(), kOther->content.begin())));
}

}  // namespace
}  // namespace millhopper

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
  millhopper::Fuzz(block, expanded);
  return 0;
}
