// SPDX-License-Identifier: Apache-2.0
// Whose turn it is in a mix.
#include "readers/combine/mix_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "framework/base/error.h"

namespace millhopper {
namespace {

const RandomKey kKey(1, 2, "mixed");

std::vector<size_t> Turns(const std::vector<double>& weights, size_t count, uint64_t pass = 0) {
  MixSchedule schedule(weights, kKey, pass);
  std::vector<size_t> turns;
  while (turns.size() < count) turns.push_back(schedule.Next());
  return turns;
}

// After each turn every count must be the share, rounded down or up.
void ExpectShares(const std::vector<double>& weights, size_t count) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<double> taken(weights.size());
  double turn = 0;
  for (const size_t index : Turns(weights, count)) {
    ++taken[index];
    ++turn;
    for (size_t i = 0; i < weights.size(); ++i) {
      ASSERT_LT(std::abs(taken[i] - turn * weights[i] / sum), 1 + 1e-6)
          << "participant " << i << " after " << turn << " turns of " << weights.size();
    }
  }
}

TEST(MixSchedule, KeepsSharesWithinOneOfAnyWeights) {
  std::mt19937_64 bits(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<double> weights(1 + bits() % (round % 50 == 0 ? 200 : 12));
    for (double& weight : weights) {
      weight = static_cast<double>(bits() % 1000 + 1) / (round % 2 == 0 ? 1 : 997);
      if (bits() % 8 == 0) weight *= 1e-5;
    }
    ExpectShares(weights, 500);
  }
  for (const std::vector<double>& weights :
       {std::vector<double>{1, 1}, {0.5, 0.25, 0.25}, {0.7, 0.2, 0.1}, {1e30, 1e30}, {1, 1e-30}}) {
    ExpectShares(weights, 10000);
  }
}

// Whole weights are exact: no count is less than its share rounded down, or more than it rounded
// up.
TEST(MixSchedule, IsExactForWholeWeights) {
  std::mt19937_64 bits(11);
  for (int round = 0; round < 500; ++round) {
    std::vector<uint64_t> whole(1 + bits() % 9);
    for (uint64_t& weight : whole) weight = bits() % (round % 2 == 0 ? 12 : 100000) + 1;
    const uint64_t sum = std::accumulate(whole.begin(), whole.end(), uint64_t{0});
    std::vector<uint64_t> taken(whole.size());
    uint64_t turn = 0;
    for (const size_t index : Turns({whole.begin(), whole.end()}, 2000)) {
      ++taken[index];
      ++turn;
      for (size_t i = 0; i < whole.size(); ++i) {
        ASSERT_GE(taken[i], turn * whole[i] / sum) << i << " after " << turn;
        ASSERT_LE(taken[i], (turn * whole[i] + sum - 1) / sum) << i << " after " << turn;
      }
    }
  }
}

TEST(MixSchedule, PassesOverWeightsOfZero) {
  for (const size_t index : Turns({0, 2, 0, 1}, 100)) EXPECT_EQ(index % 2, 1u);
}

TEST(MixSchedule, IsAFunctionOfWeightsKeyAndPass) {
  EXPECT_EQ(Turns({2, 3, 5}, 1000, 4), Turns({2, 3, 5}, 1000, 4));
  EXPECT_EQ(Turns({2, 3, 5}, 1000), Turns({0.5, 0.75, 1.25}, 1000)) << "only ratios matter";
  EXPECT_NE(Turns({1, 1}, 100, 0), Turns({1, 1}, 100, 1)) << "equals are drawn anew";
}

// Each part is within 2 of its shares over any stretch, and what is left out at its beginning is
// whole turns.
TEST(MixSchedule, PartsKeepSharesFromAnyPlace) {
  std::mt19937_64 bits(13);
  for (int round = 0; round < 1000; ++round) {
    std::vector<double> weights(1 + bits() % 9);
    for (double& weight : weights) weight = static_cast<double>(bits() % 100 + 1);
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    const MixPart part = {bits() % 16, 16};
    MixSchedule schedule(weights, kKey, 0, part);
    std::vector<double> lead(weights.size()), highest(weights.size()), lowest(weights.size());
    for (int turn = 0; turn < 500; ++turn) {
      ++lead[schedule.Next()];
      for (size_t i = 0; i < weights.size(); ++i) {
        lead[i] -= weights[i] / sum;
        highest[i] = std::max(highest[i], lead[i]);
        lowest[i] = std::min(lowest[i], lead[i]);
        ASSERT_LT(highest[i] - lowest[i], 2 + 1e-6)
            << i << " of " << weights.size() << ", part " << part.part;
      }
    }
    MixSchedule again(weights, kKey, 0, part);
    ASSERT_TRUE(again.SetNumbers(schedule.Numbers()));
    for (int turn = 0; turn < 50; ++turn) ASSERT_EQ(again.Next(), schedule.Next());
  }
}

TEST(MixLengths, GoOnFromTheirNumbers) {
  std::mt19937_64 bits(17);
  MixLengths lengths({5, 0, 3, 1}, kKey, 0);
  for (int turn = 0; turn < 300; ++turn) {
    MixLengths again({5, 0, 3, 1}, kKey, 0);
    ASSERT_TRUE(again.SetNumbers(lengths.Numbers()));
    const size_t next = lengths.Next();
    ASSERT_EQ(again.Next(), next);
    ASSERT_NE(next, 1u);
    lengths.Add(next, bits() % 1000 + 1);
  }
  MixLengths other({5, 0, 3, 1}, kKey, 0);
  EXPECT_FALSE(other.SetNumbers({1, 2, 3}));
  EXPECT_FALSE(other.SetNumbers({1, 1, 1, 1})) << "the second has no weight";
  EXPECT_FALSE(other.SetNumbers({UINT64_MAX, 0, 1, 1}));
  EXPECT_THROW(other.Add(0, UINT64_MAX), Error);
}

}  // namespace
}  // namespace millhopper
