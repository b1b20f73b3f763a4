// SPDX-License-Identifier: Apache-2.0
// gaussian_noise.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/operators/image/image_checks.h"

namespace millhopper {
namespace {

LoDTensor Gray(float value) {
  return MakeTensor<float>({4, 200, 250, 1}, std::vector<float>(200000, value));
}

TEST(GaussianNoiseOp, AddsNumbersOfTheNormalDistribution) {
  const LoDTensor out =
      RunImageOp("gaussian_noise", Gray(0), {{"sigma", 1.0f}, {"clip", false}}, 3);
  std::vector<float> values = ValuesOf<float>(out);
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  double farthest = 0, sum = 0, squares = 0;
  for (size_t k = 0; k < values.size(); ++k) {
    const double value = double{values[k]};
    const double below = std::erfc(-value / std::sqrt(2.0)) / 2;
    farthest = std::max(farthest, std::abs(below - (static_cast<double>(k) + 0.5) / count));
    sum += value;
    squares += value * value;
  }
  // Kolmogorov and Smirnov: more than 1.63 / sqrt(n) in 1 of 100 samples.
  EXPECT_LT(farthest, 1.63 / std::sqrt(count));
  EXPECT_NEAR(sum / count, 0, 0.01);
  EXPECT_NEAR(squares / count, 1, 0.02);
  // Beyond the lowest layer of the ziggurat lie 58 of 100000 values.
  const auto beyond = [](float value) { return std::abs(value) > 3.4426199f; };
  EXPECT_NEAR(static_cast<double>(std::count_if(values.begin(), values.end(), beyond)), 115, 40);
}

TEST(GaussianNoiseOp, HoldsValuesWithinTheirRange) {
  const auto floats = ValuesOf<float>(RunImageOp("gaussian_noise", Gray(0.9f), {}));
  EXPECT_EQ(*std::max_element(floats.begin(), floats.end()), 1.0f);
  const auto free = ValuesOf<float>(RunImageOp("gaussian_noise", Gray(0.9f), {{"clip", false}}));
  EXPECT_GT(*std::max_element(free.begin(), free.end()), 1.2f);
  for (size_t v = 0; v < free.size(); ++v) EXPECT_EQ(floats[v], std::clamp(free[v], 0.0f, 1.0f));
  // Whole numbers are added to bytes, those below 1 not at all.
  const LoDTensor bytes = MakeTensor<uint8_t>({1, 1, 4, 1}, {0, 100, 200, 255});
  const auto with = [&](float mean) {
    return ValuesOf<uint8_t>(
        RunImageOp("gaussian_noise", bytes, {{"mean", mean}, {"sigma", 0.0f}}));
  };
  EXPECT_EQ(with(0.0035f), (std::vector<uint8_t>{0, 100, 200, 255}));
  EXPECT_EQ(with(0.2f), (std::vector<uint8_t>{51, 151, 251, 255}));
  EXPECT_EQ(with(-0.5f), (std::vector<uint8_t>{0, 0, 73, 128}));
  EXPECT_EQ(with(-1e30f), (std::vector<uint8_t>{0, 0, 0, 0}));
}

TEST(GaussianNoiseOp, DrawsForEachImage) {
  ExpectDrawsForEachImage("gaussian_noise", RandomImages({20, 5, 5, 3}), {});
}

TEST(GaussianNoiseOp, Refuses) {
  const SlotTensors x = {{"X", Gray(0)}};
  ExpectRefused("'sigma' is -1", "gaussian_noise", x, {"Out"}, {{"sigma", -1.0f}});
  ExpectRefused("'mean' is inf", "gaussian_noise", x, {"Out"}, {{"mean", HUGE_VALF}});
  ExpectRefused("takes uint8 and float32 images", "gaussian_noise",
                {{"X", MakeTensor<uint16_t>({1, 1, 1, 1}, {1})}}, {"Out"});
}

}  // namespace
}  // namespace millhopper
