// SPDX-License-Identifier: Apache-2.0
// Fuzzes our decoder of raw snappy blocks: it takes and refuses the blocks that libsnappy takes and
// refuses, and expands them to the same bytes. Each input is a block, and is also content that
// libsnappy compresses.
#include <snappy.h>

#include <string>
#include <vector>

#include "readers/support/snappy_block.h"
#include "tests/fuzz/target.h"

namespace millhopper {
namespace {

constexpr size_t kMostBytes = 1 << 20;

void CheckAsLibrary(const char* block, size_t size) {
  size_t expanded;
  if (!snappy::GetUncompressedLength(block, size, &expanded) || expanded > kMostBytes) return;
  // Memory of exactly this size, so that a sanitizer sees an access beyond it.
  std::vector<char> ours(expanded), theirs(expanded);
  const bool taken = ExpandSnappyBlock(block, size, ours.data(), expanded);
  CHECK_EQ(taken, snappy::RawUncompress(block, size, theirs.data()));
  CHECK(!taken || ours == theirs);
  CHECK(!ExpandSnappyBlock(block, size, std::vector<char>(expanded + 1).data(), expanded + 1));
}

}  // namespace
}  // namespace millhopper

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* const bytes = reinterpret_cast<const char*>(data);
  millhopper::CheckAsLibrary(bytes, size);
  std::string block;
  snappy::Compress(bytes, size, &block);
  millhopper::CheckAsLibrary(block.data(), block.size());
  return 0;
}
