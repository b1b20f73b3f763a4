// SPDX-License-Identifier: Apache-2.0
#include "framework/base/permutation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace millhopper {
namespace {

const RandomKey kKey(1, 2, "files");

TEST(Permutation, HasEachNumberOnce) {
  for (const uint64_t n : {0, 1, 2, 3, 100, 4095, 4096, 4097, 5000, 8191, 8192, 8193, 100000}) {
    const Permutation order(n, kKey, 7);
    std::vector<bool> seen(n);
    for (uint64_t i = 0; i < n; ++i) {
      ASSERT_LT(order[i], n);
      ASSERT_FALSE(seen[order[i]]) << "of " << n;
      seen[order[i]] = true;
    }
  }
}

TEST(Permutation, OfVeryManyIsUndone) {
  const Permutation order(uint64_t{1} << 62, kKey, 0);
  std::vector<uint64_t> first;
  for (uint64_t i = 0; i < 1000; ++i) first.push_back(order[i]);
  std::sort(first.begin(), first.end());
  EXPECT_EQ(std::adjacent_find(first.begin(), first.end()), first.end());
  EXPECT_LT(first.front(), uint64_t{1} << 54);
  EXPECT_GT(first.back(), (uint64_t{1} << 62) - (uint64_t{1} << 54));
}

// Pearson's statistic of how often each of 16 parts of the order takes from each of 16 parts of the
// numbers: about 225 for a random order, with a deviation of about 21.
TEST(Permutation, SpreadsEveryPartOverAll) {
  constexpr uint64_t kN = 160000, kParts = 16;
  for (uint64_t pass = 0; pass < 8; ++pass) {
    const Permutation order(kN, kKey, pass);
    std::vector<double> counts(kParts * kParts);
    for (uint64_t i = 0; i < kN; ++i) {
      ++counts[i * kParts / kN * kParts + order[i] * kParts / kN];
    }
    const double expected = static_cast<double>(kN) / (kParts * kParts);
    double sum = 0;
    for (const double count : counts) sum += (count - expected) * (count - expected) / expected;
    EXPECT_GT(sum, 225 - 6 * 21) << "in pass " << pass;
    EXPECT_LT(sum, 225 + 6 * 21) << "in pass " << pass;
  }
}

// Neighbours do not stay near each other: their distance is that of two random numbers, a third of
// n, with a deviation of 0.24 n.
TEST(Permutation, PartsNeighbours) {
  constexpr uint64_t kN = 1000003;
  const Permutation order(kN, kKey, 3);
  double sum = 0;
  for (uint64_t i = 0; i + 1 < kN; ++i) {
    sum += std::abs(static_cast<double>(order[i]) - static_cast<double>(order[i + 1]));
  }
  EXPECT_NEAR(sum / (static_cast<double>(kN) * static_cast<double>(kN - 1)), 1.0 / 3, 0.002);
}

// Lists of places are those that are asked for one by one. Of 2^16 + 1 numbers nearly half of 2^17
// places are beyond, so that many of them are encrypted again.
TEST(Permutation, ListsWhatStandsAtEachPlace) {
  for (const uint64_t n : {uint64_t{1}, uint64_t{4096}, uint64_t{65537}, uint64_t{1} << 40}) {
    const Permutation order(n, kKey, 2);
    for (const uint64_t first : {uint64_t{0}, n / 3}) {
      for (const uint64_t count : {0, 1, 7, 8, 9, 1000}) {
        if (count > n - first) continue;
        std::vector<uint64_t> listed(count), wanted;
        order.List(first, count, listed.data());
        for (uint64_t i = 0; i < count; ++i) wanted.push_back(order[first + i]);
        EXPECT_EQ(listed, wanted) << count << " of " << n << " from " << first;
      }
    }
  }
}

TEST(Permutation, DependsOnKeyAndPass) {
  for (const uint64_t n : {uint64_t{1000}, uint64_t{1000000}}) {
    const Permutation order(n, kKey, 0), again(n, kKey, 0), next(n, kKey, 1);
    const Permutation other(n, RandomKey(1, 3, "files"), 0);
    int same_pass = 0, same_key = 0;
    for (uint64_t i = 0; i < 1000; ++i) {
      EXPECT_EQ(order[i], again[i]);
      same_pass += order[i] == next[i];
      same_key += order[i] == other[i];
    }
    EXPECT_LT(same_pass, 10);
    EXPECT_LT(same_key, 10);
  }
}

}  // namespace
}  // namespace millhopper
