// SPDX-License-Identifier: Apache-2.0
// Expanding snappy's blocks, compared with libsnappy: the same bytes of whole blocks, the same
// verdict on damaged ones. Blocks and what they expand to lie in memory of their exact size, so
// that a sanitizer sees an access beyond it.
#include "readers/snappy_block.h"

#include <gtest/gtest.h>
#include <snappy.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
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

// The same by libsnappy.
std::optional<std::string> ExpandByLibrary(const std::string& block, size_t expanded) {
  size_t says = 0;
  if (!snappy::GetUncompressedLength(block.data(), block.size(), &says)) return std::nullopt;
  std::string out;
  if (says != expanded || !snappy::Uncompress(block.data(), block.size(), &out)) {
    return std::nullopt;
  }
  return out;
}

std::string Compressed(const std::string& content) {
  std::string block;
  snappy::Compress(content.data(), content.size(), &block);
  return block;
}

// Bytes that repeat some of what precedes them, as often as `repeats` of 256, from anywhere and in
// any length.
std::string Content(size_t size, uint32_t repeats, std::mt19937* random) {
  std::string content;
  while (content.size() < size) {
    if (!content.empty() && (*random)() % 256 < repeats) {
      const size_t offset = 1 + (*random)() % std::min<size_t>(content.size(), 1 + (*random)());
      const size_t length = 1 + (*random)() % 100;
      for (size_t i = 0; i < length; ++i) content += content[content.size() - offset];
    } else {
      content += static_cast<char>((*random)());
    }
  }
  content.resize(size);
  return content;
}

TEST(SnappyBlock, ExpandsWhatTheLibraryCompresses) {
  std::mt19937 random(7);
  std::vector<size_t> sizes = {100'000, 70'000, 300'000};
  for (size_t size = 0; size < 400; ++size) sizes.push_back(size);
  for (const size_t size : sizes) {
    for (const uint32_t repeats : {0U, 5U, 60U, 250U}) {
      const std::string content = Content(size, repeats, &random);
      ASSERT_EQ(Expand(Compressed(content), size), content) << size << " bytes, " << repeats;
    }
  }
}

TEST(SnappyBlock, RepeatsShortPatterns) {
  for (size_t period = 1; period <= 70; ++period) {
    for (const size_t size : {period + 5, period + 64, period + 1000}) {
      std::string content;
      for (size_t i = 0; i < size; ++i) content += static_cast<char>('a' + i % period);
      ASSERT_EQ(Expand(Compressed(content), size), content) << period << ' ' << size;
    }
  }
}

// Elements that the library's compressor does not write.
TEST(SnappyBlock, KnowsEveryElementOfTheFormat) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>('a' + i % 26);
  const std::string size("\xb0\x02", 2);  // 304
  // Sizes of literals in one, two, three and four bytes; 299 is one less than there are.
  for (const std::string& literal :
       {std::string("\xf4\x2b\x01", 3), std::string("\xf8\x2b\x01\x00", 4),
        std::string("\xfc\x2b\x01\x00\x00", 5)}) {
    // Copies of four bytes from 300 back: offsets of one, two and four bytes.
    for (const std::string& copy : {std::string("\x21\x2c", 2), std::string("\x0e\x2c\x01", 3),
                                    std::string("\x0f\x2c\x01\x00\x00", 5)}) {
      const std::string block = size + literal + text + copy;
      ASSERT_EQ(Expand(block, 304), text + text.substr(0, 4));
      ASSERT_EQ(ExpandByLibrary(block, 304), text + text.substr(0, 4));
    }
  }
}

TEST(SnappyBlock, RefusesAnotherSizeThanTheBlockSays) {
  const std::string block = Compressed(std::string(1000, 'x') + "abc");
  EXPECT_TRUE(Expand(block, 1003));
  for (const size_t other : {0, 1, 999, 1002, 1004, 100'000}) EXPECT_FALSE(Expand(block, other));
  EXPECT_EQ(Expand(std::string(1, '\0'), 0), "");
  EXPECT_FALSE(Expand("", 0));
  // 2^32 and more, of which 32 bits are 3.
  EXPECT_FALSE(Expand(std::string("\x83\x80\x80\x80\x10\x08", 6) + "abc", 3));
  EXPECT_FALSE(Expand(std::string("\x83\x80\x80\x80\x80\x80\x80\x08", 8) + "abc", 3));
}

TEST(SnappyBlock, JudgesDamagedBlocksAsTheLibraryDoes) {
  std::mt19937 random(11);
  for (const size_t size : {20, 90, 700}) {
    const std::string content = Content(size, 40, &random);
    const std::string block = Compressed(content);
    for (size_t cut = 0; cut < block.size(); ++cut) {
      ASSERT_EQ(Expand(block.substr(0, cut), size), std::nullopt) << "cut at " << cut;
    }
    for (size_t bit = 0; bit < 8 * block.size(); ++bit) {
      std::string damaged = block;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
      ASSERT_EQ(Expand(damaged, size), ExpandByLibrary(damaged, size)) << "bit " << bit;
    }
    for (int i = 0; i < 20'000; ++i) {
      std::string damaged = block;
      for (int k = 0; k < 3; ++k) {
        damaged[2 + random() % (damaged.size() - 2)] = static_cast<char>(random());
      }
      ASSERT_EQ(Expand(damaged, size), ExpandByLibrary(damaged, size));
    }
  }
}

}  // namespace
}  // namespace millhopper
