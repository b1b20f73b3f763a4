// SPDX-License-Identifier: Apache-2.0
// Pages of numbers as Parquet stores them. tests/python/fields/test_parquet.py reads them from
// files.
#include "readers/arrow/flat_pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/bytes.h"

namespace millhopper {
namespace {

using Numbers = std::vector<uint32_t>;

struct TestPage {
  FlatPageKind kind;
  int64_t values;
  std::string bytes;
  bool levels_packed = true;
  bool compressed = true;  // if the column is
  std::optional<std::string> levels = std::nullopt;
};

TestPage Dictionary(int64_t values, const std::string& hex) {
  return {FlatPageKind::kDictionary, values, FromHex(hex)};
}
TestPage NumberPage(int64_t values, const std::string& hex) {
  return {FlatPageKind::kNumbers, values, FromHex(hex)};
}
TestPage Places(int64_t values, const std::string& hex) {
  return {FlatPageKind::kPlaces, values, FromHex(hex)};
}

// A compression in which a page has its bytes after an x.
bool DropFirst(PackedBytes stored, uint8_t* out, size_t expanded) {
  if (stored.size() != expanded + 1 || *stored.begin != 'x') return false;
  std::copy(stored.begin + 1, stored.end, out);
  return true;
}

// The numbers of a column; nothing if a page is refused or they are fewer.
std::optional<Numbers> Decode(const std::vector<TestPage>& pages, size_t values,
                              bool may_be_null = false, bool compressed = false) {
  FlatPageTools tools;
  tools.allocate = [](size_t bytes) {
    return std::shared_ptr<uint8_t>(new uint8_t[bytes],
                                    [](const uint8_t* memory) { delete[] memory; });
  };
  if (compressed) tools.expand = DropFirst;
  Numbers numbers(values);
  FlatPages<uint32_t> decoder(tools, may_be_null, values, numbers.data());
  std::list<std::vector<uint8_t>> kept;
  for (const TestPage& page : pages) {
    const std::string stored = (compressed && page.compressed ? "x" : "") + page.bytes;
    kept.emplace_back(stored.begin(), stored.end());
    const std::vector<uint8_t>& exact = kept.back();
    FlatPage flat;
    flat.compressed = page.compressed;
    flat.kind = page.kind;
    flat.stored = {exact.data(), exact.data() + exact.size()};
    flat.expanded = static_cast<int64_t>(page.bytes.size());
    flat.values = page.values;
    flat.levels_packed = page.levels_packed;
    std::vector<uint8_t> levels;
    if (page.levels) {
      levels.assign(page.levels->begin(), page.levels->end());
      flat.levels = PackedBytes{levels.data(), levels.data() + levels.size()};
    }
    if (!decoder.Take(flat)) return std::nullopt;
  }
  if (!decoder.is_done()) return std::nullopt;
  return numbers;
}

constexpr char kThree[] = "05000000 06000000 07000000";

TEST(FlatPages, HoldNumbersOrTheirPlacesInADictionary) {
  // A run of three times place 1, then eight places of two bits, of which two count.
  const TestPage places = Places(5, "02 0601 03 8200");
  for (const bool compressed : {false, true}) {
    EXPECT_EQ(Decode({NumberPage(2, "01000000 02000000"), NumberPage(0, "")}, 2, false, false),
              (Numbers{1, 2}));
    EXPECT_EQ(
        Decode({Dictionary(3, kThree), places, NumberPage(1, "09000000")}, 6, false, compressed),
        (Numbers{6, 6, 6, 7, 5, 9}));
  }
}

TEST(FlatPages, OfTheSecondVersionHaveTheirLevelsApart) {
  for (const bool compressed : {false, true}) {
    const auto decode = [&](const std::string& levels) {
      TestPage page = NumberPage(2, "01000000 02000000");
      page.levels = FromHex(levels);
      return Decode({page}, 2, true, compressed);
    };
    EXPECT_EQ(decode("0401"), (Numbers{1, 2}));
    EXPECT_EQ(decode("0303"), (Numbers{1, 2}));
    EXPECT_FALSE(decode("0302"));  // one is null
    EXPECT_FALSE(decode("0201"));  // too few
    EXPECT_FALSE(decode(""));
  }
}

TEST(FlatPages, NeedNotBeCompressedWhereOthersAre) {
  for (const bool dictionary_is : {false, true}) {
    for (const bool places_are : {false, true}) {
      TestPage dictionary = Dictionary(3, kThree), places = Places(3, "02 0601");
      dictionary.compressed = dictionary_is;
      places.compressed = places_are;
      EXPECT_EQ(Decode({dictionary, places}, 3, false, true), (Numbers{6, 6, 6}));
    }
  }
}

TEST(FlatPages, OfNumbersThatMayBeNullBeginWithLevels) {
  const auto decode = [](const std::string& hex) { return Decode({NumberPage(2, hex)}, 2, true); };
  EXPECT_EQ(decode("02000000 0401 01000000 02000000"), (Numbers{1, 2}));
  EXPECT_EQ(decode("02000000 0303 01000000 02000000"), (Numbers{1, 2}));
  EXPECT_FALSE(decode("02000000 0302 02000000"));           // one is null
  EXPECT_FALSE(decode("ffffff7f 0401 01000000 02000000"));  // longer than the page
  EXPECT_FALSE(decode("02000000 0201 01000000 02000000"));  // too few
  EXPECT_FALSE(decode("020000"));                           // cut off
  TestPage other = NumberPage(2, "02000000 0401 01000000 02000000");
  other.levels_packed = false;
  EXPECT_FALSE(Decode({other}, 2, true));
}

TEST(FlatPages, ThatMakeNoSenseAreRefused) {
  const TestPage dictionary = Dictionary(3, kThree);
  const TestPage numbers = NumberPage(3, kThree);
  const TestPage places = Places(3, "02 0600");
  EXPECT_EQ(Decode({dictionary, places}, 3), (Numbers{5, 5, 5}));
  EXPECT_FALSE(Decode({places}, 3));                          // no dictionary
  EXPECT_FALSE(Decode({dictionary, dictionary, places}, 3));  // two of them
  EXPECT_FALSE(Decode({Dictionary(0, ""), numbers}, 3));      // an empty one
  for (const bool compressed : {false, true}) {
    const TestPage more = NumberPage(1, "08000000");
    EXPECT_TRUE(Decode({dictionary, numbers, more}, 4, false, compressed));
    EXPECT_FALSE(Decode({Dictionary(4, kThree), numbers, more}, 4, false, compressed));  // short
    EXPECT_FALSE(Decode({dictionary, NumberPage(2, "01000000 02000000")}, 2, false,
                        compressed));  // one that is larger than the column
  }
  EXPECT_FALSE(Decode({dictionary, Places(3, "02 0603")}, 3));  // place 3 of 3
  EXPECT_FALSE(Decode({dictionary, Places(3, "")}, 3));
  EXPECT_FALSE(Decode({dictionary, Places(3, "21 0600")}, 3));    // 33 bits
  EXPECT_FALSE(Decode({NumberPage(2, "01000000 02000000")}, 1));  // more than wanted
  EXPECT_FALSE(Decode({NumberPage(2, "01000000 020000")}, 2));    // cut off
  EXPECT_FALSE(Decode({NumberPage(-1, "")}, 1));
  EXPECT_FALSE(Decode({Dictionary(INT64_MAX, ""), NumberPage(1, "01000000")}, 1));
  EXPECT_FALSE(Decode({{FlatPageKind::kOther, 1, FromHex("01000000")}}, 1));
  EXPECT_FALSE(Decode({NumberPage(1, "01000000")}, 2));  // fewer than wanted
}

}  // namespace
}  // namespace millhopper
