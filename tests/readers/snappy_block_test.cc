// SPDX-License-Identifier: Apache-2.0
// Blocks and what they expand to lie in memory of their exact size, so that a sanitizer sees an
// access beyond it.
#include "readers/snappy_block.h"

#include <gtest/gtest.h>
#include <snappy.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace millhopper {
namespace {

// What a block expands to; nothing if it is refused.
std::optional<std::string> Expand(const std::string& block, size_t expanded) {
  const std::vector<char> in(block.begin(), block.end());
  std::vector<char> out(expanded);
  if (!ExpandSnappyBlock({in.data(), in.size(), out.data(), out.size()})) return std::nullopt;
  return std::string(out.begin(), out.end());
}

std::string Compressed(const std::string& content) {
  std::string block;
  snappy::Compress(content.data(), content.size(), &block);
  return block;
}

// The same by libsnappy.
std::optional<std::string> ExpandByLibrary(const std::string& block, size_t expanded) {
  size_t length;
  std::string out(expanded, '\0');
  if (!snappy::GetUncompressedLength(block.data(), block.size(), &length) || length != expanded ||
      !snappy::RawUncompress(block.data(), block.size(), out.data())) {
    return std::nullopt;
  }
  return out;
}

// Numbers of 8 bytes with high bytes in common, numbers of 4 bytes, words of text, repetitions of
// all periods, and bytes that cannot be compressed.
std::vector<std::string> Contents() {
  std::mt19937 random(11);
  std::vector<std::string> contents(5);
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t wide = random();
    const uint32_t narrow = random() % 5000;
    contents[0].append(reinterpret_cast<const char*>(&wide), sizeof(wide));
    contents[1].append(reinterpret_cast<const char*>(&narrow), sizeof(narrow));
    contents[2] += std::string("the a of reader batch thread").substr(random() % 20, random() % 9);
    contents[4] += static_cast<char>(random());
  }
  for (size_t period = 1; period < 100; ++period) {
    for (size_t i = 0; i < 3 * period + random() % 200; ++i) {
      contents[3] += static_cast<char>('0' + i % period);
    }
  }
  return contents;
}

// Behind a literal of 200 bytes, so many and as many as 200 bytes lie behind, an element is far
// from both ends.
std::string InTheMiddle(const std::string& element) {
  const std::string literal = "\xf0\xc7" + std::string(200, 'm');
  return literal + element + literal;
}

std::string Declaring(size_t expanded, const std::string& elements) {
  std::string block;
  for (; expanded >= 0x80; expanded >>= 7) block += static_cast<char>(expanded | 0x80);
  return block + static_cast<char>(expanded) + elements;
}

TEST(SnappyBlock, ExpandsToWhatWasCompressed) {
  for (const std::string& content : Contents()) {
    for (size_t size = 0; size < 300; ++size) {
      const std::string some = content.substr(content.size() / 2, size);
      ASSERT_EQ(Expand(Compressed(some), size), some) << size << " bytes";
    }
    ASSERT_TRUE(Expand(Compressed(content), content.size()) == content);
  }
}

TEST(SnappyBlock, ExpandsBesideAnother) {
  const std::vector<std::string> contents = Contents();
  const auto both = [](const std::string& a, size_t size_a, const std::string& b,
                       size_t size_b) -> std::optional<std::pair<std::string, std::string>> {
    const std::vector<char> in_a(a.begin(), a.end()), in_b(b.begin(), b.end());
    std::vector<char> out_a(size_a), out_b(size_b);
    if (!ExpandSnappyBlocks({in_a.data(), in_a.size(), out_a.data(), size_a},
                            {in_b.data(), in_b.size(), out_b.data(), size_b})) {
      return std::nullopt;
    }
    return std::make_pair(std::string(out_a.begin(), out_a.end()),
                          std::string(out_b.begin(), out_b.end()));
  };
  for (const std::string& a : contents) {
    for (const std::string& content : contents) {
      for (const size_t size : {size_t{0}, size_t{100}, size_t{5000}, content.size()}) {
        const std::string b = content.substr(0, size);
        const std::string block_a = Compressed(a), block_b = Compressed(b);
        ASSERT_TRUE(both(block_a, a.size(), block_b, b.size()) == std::make_pair(a, b));
        const std::string cut = block_b.substr(0, block_b.size() - 1);
        EXPECT_FALSE(both(block_a, a.size(), cut, b.size()));
        EXPECT_FALSE(both(cut, b.size(), block_a, a.size()));
        EXPECT_FALSE(both(block_a, a.size(), block_b, b.size() + 1));
      }
    }
  }
}

// The library writes neither copies with four bytes of offset nor literals with more bytes of
// length than needed.
TEST(SnappyBlock, HasElementsOfEachKind) {
  const std::string abc =
      "\x08"
      "abc";
  const struct {
    std::string element, expanded;
  } kinds[] = {
      {abc, "abc"},
      {std::string("\xf0\x02", 2) + "abc", "abc"},
      {std::string("\xf4\x02\0", 3) + "abc", "abc"},
      {std::string("\xf8\x02\0\0", 4) + "abc", "abc"},
      {std::string("\xfc\x02\0\0\0", 5) + "abc", "abc"},
      {abc + std::string("\x05\x03", 2), "abcabcab"},
      {abc + std::string("\x0a\x02\0", 3), "abcbcb"},
      {abc + std::string("\x0b\x01\0\0\0", 5), "abcccc"},
      {abc + std::string("\x12\x01\0", 3) + abc + std::string("\x01\x08", 2), "abccccccabccccc"},
      {abc + std::string("\x21\xc8", 2), "abc" + std::string(5, 'm')},  // of 200 + 256 bytes before
  };
  for (const auto& [element, expanded] : kinds) {
    const std::string middle(200, 'm');
    const std::string wanted = middle + expanded + middle;
    const std::string block = Declaring(wanted.size(), InTheMiddle(element));
    EXPECT_EQ(Expand(block, wanted.size()), ExpandByLibrary(block, wanted.size()));
    if (element.back() == '\xc8') continue;  // farther back than the block goes
    EXPECT_EQ(Expand(block, wanted.size()), wanted);
    EXPECT_EQ(Expand(Declaring(expanded.size(), element), expanded.size()), expanded);
  }
}

TEST(SnappyBlock, RefusesCopiesOfWhatIsNotThere) {
  const std::string abc =
      "\x08"
      "abc";
  for (const std::string& copy :
       {std::string("\x01\0", 2), std::string("\x01\xff", 2), std::string("\x0a\0\0", 3),
        std::string("\x0e\xff\x7f", 3), std::string("\x0b\0\0\0\0", 5),
        std::string("\x0b\xff\xff\xff\xff", 5)}) {
    for (size_t size = 3; size < 12; ++size) {
      EXPECT_FALSE(Expand(Declaring(size, abc + copy), size));
      EXPECT_FALSE(Expand(Declaring(size + 400, InTheMiddle(abc + copy)), size + 400));
    }
  }
  for (const char tag : {'\x01', '\x02', '\x03', '\xf0', '\xf4', '\xf8', '\xfc'}) {
    EXPECT_FALSE(Expand(Declaring(7, abc + tag), 7));  // ends within the element
  }
}

TEST(SnappyBlock, IsRefusedOrExpandedAsByTheLibrary) {
  std::mt19937 random(5);
  for (const std::string& content : Contents()) {
    const std::string block = Compressed(content.substr(0, 4000));
    for (int round = 0; round < 2000; ++round) {
      std::string damaged = block;
      const size_t begin = 2 + random() % (block.size() - 2);
      damaged[begin] = static_cast<char>(random());
      if (round % 2 == 0) damaged[2 + random() % (block.size() - 2)] ^= 1 << random() % 8;
      if (round % 8 == 0) damaged.resize(begin + 1);
      const size_t expanded = std::min<size_t>(content.size(), 4000);
      ASSERT_EQ(Expand(damaged, expanded), ExpandByLibrary(damaged, expanded));
    }
  }
}

TEST(SnappyBlock, RefusesAnotherSizeThanTheBlockSays) {
  const std::string content = std::string(1000, 'x') + "abc";
  const std::string block = Compressed(content);
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
