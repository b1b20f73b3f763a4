// SPDX-License-Identifier: Apache-2.0
// Maps of characters that are damaged. tests/python/readers/test_precompiled.py compares whole ones
// with the original.
#include "operators/text/tokens/chars_map.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/testing.h"

namespace millhopper {
namespace {

std::string MapOf(const std::vector<uint32_t>& trie, const std::string& strings) {
  const auto size = static_cast<uint32_t>(trie.size() * sizeof(uint32_t));
  std::string bytes(sizeof(size) + size, '\0');
  std::memcpy(bytes.data(), &size, sizeof(size));
  std::memcpy(bytes.data() + sizeof(size), trie.data(), size);
  return bytes + strings;
}

// The trie of one word of one byte, whose string begins at `string`.
std::vector<uint32_t> TrieOf(uint8_t byte, uint32_t string) {
  std::vector<uint32_t> trie(512);
  trie[0] = 256 << 10;                           // the children of the root: 256 ^ byte
  trie[256 ^ byte] = 256 << 10 | 1 << 8 | byte;  // a word ends here; its value: 256 ^ byte ^ 256
  trie[byte] = 0x80000000 | string;
  return trie;
}

std::string Precompiled(const CharsMap& map, const std::string& text) {
  const std::vector<uint8_t> exact(text.begin(), text.end());
  TextBytes out;
  AppendPrecompiled(map, exact.data(), exact.size(), &out);
  return {out.begin(), out.end()};
}

TEST(CharsMap, ReplacesWhatIsSeenAsOneCharacter) {
  const CharsMap map(MapOf(TrieOf('e', 2), std::string("x\0E-\0", 5)));
  EXPECT_EQ(Precompiled(map, "eve"), "E-vE-");
  EXPECT_EQ(Precompiled(map, "e\u0301."), "E-.");  // as a whole
  EXPECT_EQ(Precompiled(map, "e\u0301\u0301"), "E-");
  EXPECT_EQ(Precompiled(map, "e\u0301\u0301\u0301."), "E-\u0301\u0301\u0301.");
  EXPECT_EQ(Precompiled(map, ""), "");
}

TEST(CharsMap, RefusesDamagedMaps) {
  const auto expect = [](const std::string& bytes, const char* problem) {
    ExpectError(ErrorCode::kDataLoss, problem, [&] { CharsMap{bytes}; });
  };
  expect("", "it has 0 bytes");
  expect(std::string("\x08\0\0\0abcd", 8), "its trie has 8 bytes, of 4 that there are");
  expect(std::string("\x03\0\0\0abcd", 8), "its trie has 3 bytes");
  expect(std::string("\0\0\0\0abcd", 8), "its trie has 0 bytes");
  expect(MapOf({0}, "abc"), "its last string does not end");
  expect(MapOf({0}, ""), "its last string does not end");
  expect(MapOf({0}, std::string("\xc3\0", 2)), "a string is not UTF-8");
}

TEST(CharsMap, RefusesWhereTheTrieLeadsOutside) {
  const auto expect = [](const std::string& bytes, const char* problem, const std::string& text) {
    const CharsMap map(bytes);
    ExpectError(ErrorCode::kDataLoss, problem, [&] { Precompiled(map, text); });
  };
  const std::string strings("\u00e9\0", 3);
  expect(MapOf(TrieOf('a', 3), strings), "a string would begin at byte 3 of 3", "a");
  expect(MapOf(TrieOf('a', 1), strings), "a string would begin at byte 1 of 3", "a");
  expect(MapOf(TrieOf(0xc3, 0), strings), "a part of a character is replaced", "\u00e9");
  // Children beyond the end of the trie are none.
  const CharsMap map(MapOf({0x1fffff << 10 | 0x200}, strings));
  EXPECT_EQ(Precompiled(map, "a\u00e9"), "a\u00e9");
}

}  // namespace
}  // namespace millhopper
