// SPDX-License-Identifier: Apache-2.0
// channel_permutation.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "tests/operators/image/image_checks.h"

namespace millhopper {
namespace {

// Expects all orders of the channels of images whose channel c holds c, about equally often.
template <typename T>
void ExpectOrders(int64_t channels, size_t orders) {
  constexpr int64_t kImages = 2400;
  std::vector<T> values;
  for (int64_t v = 0; v < kImages * 2 * channels; ++v) {
    values.push_back(static_cast<T>(v % channels));
  }
  const LoDTensor out =
      RunImageOp("channel_permutation", MakeTensor<T>({kImages, 1, 2, channels}, values));
  const std::vector<T> made = ValuesOf<T>(out);
  std::map<std::vector<T>, int> counts;
  for (auto pixel = made.begin(); pixel != made.end(); pixel += 2 * channels) {
    const std::vector<T> order(pixel, pixel + channels);
    EXPECT_EQ(order, std::vector<T>(pixel + channels, pixel + 2 * channels));
    EXPECT_EQ(std::set<T>(order.begin(), order.end()).size(), order.size());
    ++counts[order];
  }
  EXPECT_EQ(counts.size(), orders);
  for (const auto& [order, count] : counts) {
    EXPECT_NEAR(count, static_cast<double>(kImages) / static_cast<double>(orders), 70);
  }
}

TEST(ChannelPermutationOp, MakesAllOrdersOfChannels) {
  ExpectOrders<uint8_t>(3, 6);
  ExpectOrders<uint16_t>(2, 2);
  ExpectOrders<float>(4, 24);
}

TEST(ChannelPermutationOp, LeavesSomeImages) {
  const LoDTensor images = RandomImages({200, 2, 2, 3});
  const auto in = ValuesOf<uint8_t>(images);
  const auto out = ValuesOf<uint8_t>(RunImageOp("channel_permutation", images, {{"p", 0.25f}}));
  const RandomKey key = ImageOpKey();
  int stayed = 0;
  for (size_t i = 0; i < 200; ++i) {
    const bool same = std::equal(&in[i * 12], &in[i * 12] + 12, &out[i * 12]);
    EXPECT_TRUE(same || UnitOf(key.Bits(i, 0)) < 0.25);
    stayed += same ? 1 : 0;
  }
  EXPECT_TRUE(stayed > 120 && stayed < 190) << stayed;
  ExpectDrawsForEachImage("channel_permutation", RandomImages({20, 3, 3, 3}), {});
  ExpectRefused("'p' is 2", "channel_permutation", {{"X", images}}, {"Out"}, {{"p", 2.0f}});
}

}  // namespace
}  // namespace millhopper
