// SPDX-License-Identifier: Apache-2.0
// Blocks and what they expand to lie in memory of their exact size, so that a sanitizer sees an
// access beyond it.
#include "readers/support/snappy_block.h"

#include <gtest/gtest.h>
#include <snappy.h>

#include <optional>
#include <string>
#include <vector>

namespace millhopper {
namespace {

// What a block expands to; nothing if it is refused.
std::optional<std::string> Expand(const std::string& block, size_t expanded) {
  const std::vector<char> in(block.begin(), block.end());
  std::vector<char> out(expanded);
  if (!ExpandSnappyBlock(in.data(), in.size(), out.data(), out.size())) return std::nullopt;
  return std::string(out.begin(), out.end());
}

TEST(SnappyBlock, RefusesAnotherSizeThanTheBlockSays) {
  const std::string content = std::string(1000, 'x') + "abc";
  std::string block;
  snappy::Compress(content.data(), content.size(), &block);
  EXPECT_EQ(Expand(block, content.size()), content);
  for (const size_t other : {0, 1, 999, 1002, 1004, 100'000}) EXPECT_FALSE(Expand(block, other));
  for (size_t cut = 0; cut < block.size(); ++cut) {
    EXPECT_FALSE(Expand(block.substr(0, cut), content.size())) << "cut at " << cut;
  }
  EXPECT_EQ(Expand(std::string(1, '\0'), 0), "");
  EXPECT_FALSE(Expand("", 0));
  // 2^32 and more, of which 32 bits are 3.
  EXPECT_FALSE(Expand(std::string("\x83\x80\x80\x80\x10\x08", 6) + "abc", 3));
}

}  // namespace
}  // namespace millhopper
