// SPDX-License-Identifier: Apache-2.0
// Blocks and what they expand to lie in memory of their exact size, so that a sanitizer sees an
// access beyond it. libsnappy says what is right.
#include "readers/support/snappy_block.h"

#include <gtest/gtest.h>
#include <snappy.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

// What a block expands to; nothing if it is refused.
std::optional<std::string> Expand(const std::string& block, size_t expanded) {
  const std::vector<char> in(block.begin(), block.end());
  std::vector<char> out(expanded);
  if (!ExpandSnappyBlock(in.data(), in.size(), out.data(), out.size())) return std::nullopt;
  return std::string(out.begin(), out.end());
}

std::optional<std::string> ExpandByLibrary(const std::string& block) {
  std::string out;
  if (!snappy::Uncompress(block.data(), block.size(), &out)) return std::nullopt;
  return out;
}

std::string Compressed(const std::string& content) {
  std::string block;
  snappy::Compress(content.data(), content.size(), &block);
  return block;
}

// A block that says that it has so many bytes.
std::string BlockOf(size_t size, const std::string& elements) {
  std::string block;
  for (; size >= 0x80; size >>= 7) block += static_cast<char>(size | 0x80);
  return block + static_cast<char>(size) + elements;
}

// A copy of each kind.
std::string CopyOf1(size_t length, size_t distance) {
  return {static_cast<char>(1 | (length - 4) << 2 | distance >> 8 << 5),
          static_cast<char>(distance)};
}

std::string CopyOf2(size_t length, size_t distance) {
  return {static_cast<char>(2 | (length - 1) << 2), static_cast<char>(distance),
          static_cast<char>(distance >> 8)};
}

std::string CopyOf4(size_t length, size_t distance) {
  std::string copy = CopyOf2(length, distance);
  copy[0] = static_cast<char>(copy[0] | 3);
  return copy + static_cast<char>(distance >> 16) + static_cast<char>(distance >> 24);
}

std::string Literal(const std::string& bytes) {
  const size_t size = bytes.size() - 1;
  if (size < 60) return static_cast<char>(size << 2) + bytes;
  return {std::string{static_cast<char>(61 << 2), static_cast<char>(size),
                      static_cast<char>(size >> 8)} +
          bytes};
}

// Numbers of `bytes` bytes, of which `random` differ.
std::string Numbers(size_t count, size_t bytes, size_t random, std::mt19937* numbers) {
  std::string content(count * bytes, '\0');
  for (size_t i = 0; i < content.size(); ++i) {
    if (i % bytes < random) content[i] = static_cast<char>((*numbers)());
  }
  return content;
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

// Near the ends, where elements are taken one by one, and far from them.
TEST(SnappyBlock, CopiesOfEachLengthAndDistance) {
  for (const size_t behind : {0, 200}) {
    for (const size_t distance : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 63, 64, 255, 300}) {
      std::string content;
      for (size_t i = 0; i < 300; ++i) content += static_cast<char>(i * 7);
      std::string elements = Literal(content);
      const auto add = [&](size_t length, const std::string& element) {
        for (size_t i = 0; i < length; ++i) content += content[content.size() - distance];
        elements += element;
        content += "abc";
        elements += Literal("abc");
      };
      for (size_t length = 1; length <= 64; ++length) {
        if (length >= 4 && length <= 11) add(length, CopyOf1(length, distance));
        add(length, CopyOf2(length, distance));
        add(length, CopyOf4(length, distance));
      }
      if (behind > 0) {
        content += std::string(behind, 'z');
        elements += Literal(std::string(behind, 'z'));
      }
      const std::string block = BlockOf(content.size(), elements);
      EXPECT_EQ(Expand(block, content.size()), content) << distance << ", " << behind;
      EXPECT_EQ(ExpandByLibrary(block), content) << distance << ", " << behind;
    }
  }
}

TEST(SnappyBlock, RefusesCopiesFromBeforeTheBlock) {
  const std::string rest = Literal(std::string(100, 'z'));
  for (const std::string& first : {Literal("abc"), Literal(std::string(200, 'a'))}) {
    const size_t size = first.size() < 10 ? 3 : 200;
    for (const size_t distance : {size, size + 1, size_t{0}}) {
      for (const std::string& copy :
           {CopyOf1(4, distance), CopyOf2(4, distance), CopyOf4(4, distance)}) {
        const std::string block = BlockOf(size + 104, first + copy + rest);
        EXPECT_EQ(Expand(block, size + 104).has_value(), distance == size) << distance;
        EXPECT_EQ(ExpandByLibrary(block).has_value(), distance == size) << distance;
      }
    }
  }
}

TEST(SnappyBlock, TakesAndRefusesWhatTheLibraryDoes) {
  std::mt19937 random(7);
  std::vector<std::string> contents;
  for (const size_t bytes : {4, 8}) {
    for (size_t differ = 0; differ <= bytes; ++differ) {
      contents.push_back(Numbers(3000, bytes, differ, &random));
    }
  }
  for (const size_t size : {0, 1, 31, 32, 33, 63, 64, 65, 66}) contents.emplace_back(size, 'a');
  size_t refused = 0;
  for (const std::string& content : contents) {
    const std::string block = Compressed(content);
    ASSERT_EQ(Expand(block, content.size()), content);
    for (int i = 0; i < 300; ++i) {
      std::string damaged = block;
      for (int k = 0; k <= i % 3; ++k) {
        // The size stays, or nearly all that is damaged were refused for it.
        const size_t place = 3 + random() % std::max<size_t>(damaged.size(), 4);
        if (place < damaged.size()) damaged[place] = static_cast<char>(random());
      }
      const std::optional<std::string> expected = ExpandByLibrary(damaged);
      ASSERT_EQ(Expand(damaged, content.size()), expected) << "of " << content.size() << ", " << i;
      if (!expected) ++refused;
    }
  }
  EXPECT_GT(refused, 500U);
}

TEST(SnappyBlock, ExpandsEverySampleFile) {
  const std::string folder = TestData();
  if (folder.empty()) GTEST_SKIP() << kNoTestData;
  constexpr uintmax_t kMostBytes = 4 << 20;
  size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.file_size() > kMostBytes) continue;
    const std::string content = ReadFile(entry.path().string());
    // As a compressor leaves it, and with each byte followed by others, as numbers have them.
    ASSERT_EQ(Expand(Compressed(content), content.size()), content) << entry.path();
    std::string wide(std::min<size_t>(content.size(), 1 << 16) * 8, '\0');
    for (size_t i = 0; i < wide.size() / 8; ++i) wide[8 * i + i % 3] = content[i];
    ASSERT_EQ(Expand(Compressed(wide), wide.size()), wide) << entry.path();
    ++files;
  }
  EXPECT_GT(files, 100U);
}

}  // namespace
}  // namespace millhopper
