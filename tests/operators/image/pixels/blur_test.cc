// SPDX-License-Identifier: Apache-2.0
// Blurred and sharpened images, compared with sums in double and with what torchvision 0.29 makes.
//
// Its numbers: with `pattern` and `weighted_sum` as pixel_patterns.h has them for numpy, and
// `from torchvision.transforms import _functional_tensor as F`,
//   F.gaussian_blur(torch.from_numpy(pattern(4, 5, 1)).permute(2, 0, 1), [3, 3], [0.8, 0.8])
//   weighted_sum(F.adjust_sharpness(torch.from_numpy(pattern(37, 41, 3)).permute(2, 0, 1), 0.5)
//                .permute(1, 2, 0).contiguous().numpy())
#include "operators/image/pixels/blur.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "tests/operators/image/pixel_patterns.h"

namespace millhopper {
namespace {

using Bytes = std::vector<uint8_t>;
using Weights = std::vector<uint32_t>;

std::vector<double> ExactWeights(int64_t size, double sigma) {
  std::vector<double> weights;
  for (int64_t k = -(size / 2); k <= size / 2; ++k) {
    weights.push_back(std::exp(-static_cast<double>(k * k) / (2 * sigma * sigma)));
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
  return weights;
}

Weights WeightsOf(int64_t size, double sigma) {
  Weights weights(3, 9);  // what an image before has left there
  SetGaussian(size, sigma, &weights);
  return weights;
}

TEST(Blur, WeightsAreRoundedAndHaveAWholeSum) {
  for (const int64_t size : {1, 3, 5, 23, 255}) {
    for (const double sigma : {1e-300, 0.1, 0.8, 2.0, 50.0, 1e300}) {
      const Weights weights = WeightsOf(size, sigma);
      ASSERT_EQ(weights.size(), static_cast<size_t>(size));
      EXPECT_EQ(std::accumulate(weights.begin(), weights.end(), uint64_t{0}), 65536u);
      const std::vector<double> exact = ExactWeights(size, sigma);
      for (size_t k = 0; k < weights.size(); ++k) {
        EXPECT_EQ(weights[k], weights[weights.size() - 1 - k]);
        const bool is_middle = k == weights.size() / 2;
        // Dividing by sigma, which a double cannot square here, leaves the middle alone, or all.
        if (sigma < 1e-9 || sigma > 1e9) {
          const double part = sigma > 1 ? 1.0 / static_cast<double>(size) : is_middle ? 1.0 : 0.0;
          EXPECT_NEAR(weights[k], 65536 * part, is_middle ? 127 : 0.5);
        } else {
          EXPECT_NEAR(weights[k], 65536 * exact[k],
                      is_middle ? static_cast<double>(size) / 2 : 0.501);
        }
      }
    }
  }
}

OwnPixels Blurred(const OwnPixels& image, int64_t across, int64_t down, double sigma, Blur* blur) {
  OwnPixels blurred(image.shape);
  SetGaussian(across, sigma, &blur->across);
  SetGaussian(down, sigma, &blur->down);
  blur->Run(image.seen(), blurred.pixels());
  return blurred;
}

int64_t Reflected(int64_t place, int64_t length) {
  if (place < 0) return -place;
  return place >= length ? 2 * length - 2 - place : place;
}

// The sum over all neighbours, in double.
double SumAt(const OwnPixels& image, const std::vector<double>& across,
             const std::vector<double>& down, int64_t y, int64_t x, int64_t c) {
  double sum = 0;
  const auto right = static_cast<int64_t>(across.size() / 2);
  const auto below = static_cast<int64_t>(down.size() / 2);
  for (int64_t v = -below; v <= below; ++v) {
    for (int64_t u = -right; u <= right; ++u) {
      sum += across[static_cast<size_t>(u + right)] * down[static_cast<size_t>(v + below)] *
             static_cast<double>(image.at(Reflected(y + v, image.shape.height),
                                          Reflected(x + u, image.shape.width), c));
    }
  }
  return sum;
}

// How far the farthest value is from the sum in double.
double FarthestFromSums(const OwnPixels& image, int64_t across, int64_t down, double sigma,
                        Blur* blur) {
  const OwnPixels blurred = Blurred(image, across, down, sigma, blur);
  const std::vector<double> exact_across = ExactWeights(across, sigma);
  const std::vector<double> exact_down = ExactWeights(down, sigma);
  double farthest = 0;
  for (int64_t y = 0; y < image.shape.height; ++y) {
    for (int64_t x = 0; x < image.shape.width; ++x) {
      for (int64_t c = 0; c < image.shape.channels; ++c) {
        const double sum = SumAt(image, exact_across, exact_down, y, x, c);
        farthest = std::max(farthest, std::abs(static_cast<double>(blurred.at(y, x, c)) - sum));
      }
    }
  }
  return farthest;
}

TEST(Blur, IsTheSumOverNeighbours) {
  Blur blur;
  // 0.5 by rounding; the rest by weights of 16 bits, of which larger kernels have more.
  EXPECT_LE(FarthestFromSums(PatternOf({37, 41, 3}), 3, 3, 0.8, &blur), 0.51);
  EXPECT_LE(FarthestFromSums(PatternOf({37, 41, 3}), 5, 9, 1.5, &blur), 0.53);
  EXPECT_LE(FarthestFromSums(PatternOf({12, 13, 1}), 23, 23, 4.0, &blur), 0.6);
  EXPECT_LE(FarthestFromSums(PatternOf({37, 41, 3}), 1, 5, 2.0, &blur), 0.52);
  EXPECT_LE(FarthestFromSums(PatternOf({9, 130, 1}), 255, 1, 90.0, &blur), 1.0);
  // The smallest images that a kernel takes, and one that is as large as the memory it had.
  EXPECT_LE(FarthestFromSums(PatternOf({2, 3, 3}), 5, 3, 1.0, &blur), 0.52);
}

TEST(Blur, GivesTorchvisionsValues) {
  Blur blur;
  EXPECT_EQ(
      Blurred(PatternOf({4, 5, 1}), 3, 3, 0.8, &blur).values,
      (Bytes{31, 34, 38, 43, 46, 45, 47, 53, 59, 62, 76, 79, 87, 95, 99, 95, 99, 107, 116, 121}));
  EXPECT_EQ(
      Blurred(PatternOf({4, 5, 1}), 5, 3, 1.5, &blur).values,
      (Bytes{36, 38, 41, 45, 47, 48, 49, 54, 58, 60, 80, 82, 88, 94, 96, 93, 95, 102, 108, 110}));
}

TEST(Blur, LeavesEvenImagesAndSharpKernelsAlone) {
  Blur blur;
  OwnPixels even({8, 9, 3});
  even.values.assign(even.values.size(), 255);
  EXPECT_EQ(Blurred(even, 7, 5, 3.0, &blur).values, even.values);
  EXPECT_EQ(Blurred(PatternOf({8, 9, 3}), 7, 5, 0.01, &blur).values, PatternOf({8, 9, 3}).values);
}

OwnPixels Sharpened(const OwnPixels& image, double factor) {
  OwnPixels sharpened(image.shape);
  AdjustSharpness(factor, image.seen(), sharpened.pixels());
  return sharpened;
}

// Factors and products with them are whole numbers of quarters, which float32 holds exactly.
TEST(AdjustSharpness, BlendsWithTheMeanOfNine) {
  for (const int64_t channels : {1, 3}) {
    const OwnPixels image = PatternOf({11, 7, channels});
    for (const int quarters : {0, 1, 4, 7, 12}) {
      const OwnPixels sharpened = Sharpened(image, quarters / 4.0);
      for (int64_t y = 0; y < 11; ++y) {
        for (int64_t x = 0; x < 7; ++x) {
          for (int64_t c = 0; c < channels; ++c) {
            const int64_t value = image.at(y, x, c);
            int64_t soft = value;
            if (y > 0 && x > 0 && y < 10 && x < 6) {
              int64_t sum = 4 * value;
              for (int64_t place = 0; place < 9; ++place) {
                sum += image.at(y - 1 + place / 3, x - 1 + place % 3, c);
              }
              soft = std::lround(static_cast<double>(sum) / 13);
            }
            const int64_t mixed = quarters * value + (4 - quarters) * soft;
            ASSERT_EQ(sharpened.at(y, x, c), std::clamp<int64_t>(mixed, 0, 1020) / 4);
          }
        }
      }
    }
  }
}

TEST(AdjustSharpness, GivesTorchvisionsValues) {
  const OwnPixels image = PatternOf({37, 41, 3});
  EXPECT_EQ(WeightedSum(Sharpened(image, 0).values), 257277992);
  EXPECT_EQ(WeightedSum(Sharpened(image, 0.5).values), 256315277);
  EXPECT_EQ(WeightedSum(Sharpened(image, 1).values), WeightedSum(image.values));
  EXPECT_EQ(WeightedSum(Sharpened(image, 1.75).values), 257561410);
}

TEST(AdjustSharpness, LeavesSmallImagesAlone) {
  for (const ImageShape& shape : {ImageShape{2, 9, 3}, ImageShape{9, 2, 1}, ImageShape{0, 9, 3}}) {
    EXPECT_EQ(Sharpened(PatternOf(shape), 0).values, PatternOf(shape).values);
  }
}

}  // namespace
}  // namespace millhopper
