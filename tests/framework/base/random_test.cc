// SPDX-License-Identifier: Apache-2.0
#include "framework/base/random.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

namespace millhopper {
namespace {

// Computed by other code from the definition; frozen by kOrderVersion.
TEST(RandomKey, GivesTheseBits) {
  struct Golden {
    uint64_t seed;
    uint64_t bits[4];  // of (pass, index) (0, 0), (0, 1), (1, 0), (3, 1000000)
    std::vector<uint64_t> below_ten;
  };
  const Golden golden[] = {
      {0,
       {0x6902fe257153aab7, 0x9a55af109a456929, 0x65331bb6d0beb2db, 0x21551cdeaca746ba},
       {4, 6, 8, 5, 2, 2, 4, 5}},
      {1,
       {0x1a1fe6c58259738a, 0x565f00ec99b7ca15, 0x8239e7f1cb98fd98, 0x1b2e8ea0ee490426},
       {1, 3, 1, 6, 8, 0, 1, 0}},
      {20260101,
       {0xc1166955365d07db, 0xe58c532856fd23ea, 0xdd58f9c2083c46aa, 0x56042aa2fcba0ea2},
       {7, 8, 6, 9, 3, 2, 2, 3}},
  };
  for (const Golden& wanted : golden) {
    const RandomKey key(wanted.seed, wanted.seed * 2, "shuffled");
    EXPECT_EQ(key.Bits(0, 0), wanted.bits[0]);
    EXPECT_EQ(key.Bits(0, 1), wanted.bits[1]);
    EXPECT_EQ(key.Bits(1, 0), wanted.bits[2]);
    EXPECT_EQ(key.Bits(3, 1000000), wanted.bits[3]);
    for (uint64_t i = 0; i < 8; ++i) EXPECT_EQ(key.Below(10, 0, i), wanted.below_ten[i]);
  }
}

TEST(RandomKey, DependsOnEverySeedAndTheName) {
  std::set<uint64_t> bits;
  for (const uint64_t run : {0, 1}) {
    for (const uint64_t attribute : {0, 1}) {
      for (const char* name : {"", "a", "b"}) {
        for (const uint64_t pass : {0, 1}) {
          for (const uint64_t index : {0, 1}) {
            bits.insert(RandomKey(run, attribute, name).Bits(pass, index));
          }
        }
      }
    }
  }
  EXPECT_EQ(bits.size(), 48u);
}

TEST(RandomKey, IsUniformBelow) {
  constexpr uint64_t kSides = 7;
  constexpr int kThrows = 70000;
  const RandomKey key(1, 2, "dice");
  std::vector<int> seen(kSides);
  for (uint64_t i = 0; i < kThrows; ++i) ++seen[key.Below(kSides, 5, i)];
  for (const int count : seen) EXPECT_NEAR(count, 10000, 500);
  EXPECT_EQ(key.Below(1, 0, 0), 0u);
}

TEST(UnitNumbers, AreBelowOne) {
  EXPECT_EQ(ToUnitFloat(0), 0.0f);
  EXPECT_LT(ToUnitFloat(UINT64_MAX), 1.0f);
  EXPECT_EQ(ToUnitFloat(uint64_t{1} << 63), 0.5f);
  EXPECT_LT(ToUnitDouble(UINT64_MAX), 1.0);
  EXPECT_EQ(ToUnitDouble(uint64_t{1} << 62), 0.25);
}

}  // namespace
}  // namespace millhopper
