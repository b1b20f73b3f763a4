// SPDX-License-Identifier: Apache-2.0
// Tones, compared with their definitions and with what torchvision 0.29 makes of the same image.
//
// Its numbers: with `pattern` and `weighted_sum` as pixel_patterns.h has them for numpy, and
// `from torchvision.transforms import _functional_tensor as F`,
//   weighted_sum(F.equalize(torch.from_numpy(pattern(37, 41, 3)).permute(2, 0, 1))
//                .permute(1, 2, 0).contiguous().numpy())
// Pillow 13's ImageOps.posterize, solarize, autocontrast and equalize give the same four.
#include "operators/image/pixels/tones.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/operators/image/pixel_patterns.h"

namespace millhopper {
namespace {

using Bytes = std::vector<uint8_t>;

OwnPixels Pattern() { return PatternOf({37, 41, 3}); }

// The values of one channel.
std::vector<int64_t> ChannelOf(const OwnPixels& image, int64_t channel) {
  std::vector<int64_t> values;
  for (size_t k = static_cast<size_t>(channel); k < image.values.size();
       k += static_cast<size_t>(image.shape.channels)) {
    values.push_back(image.values[k]);
  }
  return values;
}

TEST(Tones, GiveTorchvisionsValues) {
  ASSERT_EQ(WeightedSum(Pattern().values), 256514687);
  OwnPixels image = Pattern();
  Posterize(3, image.pixels());
  EXPECT_EQ(WeightedSum(image.values), 221051808);
  image = Pattern();
  Solarize(100, image.pixels());
  EXPECT_EQ(WeightedSum(image.values), 171562129);
  image = Pattern();
  AutoContrast(image.pixels());
  EXPECT_EQ(WeightedSum(image.values), 273364803);
  image = Pattern();
  Equalize(image.pixels());
  EXPECT_EQ(WeightedSum(image.values), 317611636);
}

TEST(Tones, PosterizeKeepsTheUpperBits) {
  for (int bits = 0; bits <= 8; ++bits) {
    OwnPixels image = Pattern();
    Posterize(bits, image.pixels());
    const OwnPixels before = Pattern();
    const int step = 1 << (8 - bits);
    for (size_t k = 0; k < image.values.size(); ++k) {
      ASSERT_EQ(image.values[k], before.values[k] / step * step) << bits << " bits";
    }
  }
}

TEST(Tones, SolarizeTurnsWhatIsAtLeastTheThreshold) {
  const auto turned = [](double threshold) {
    OwnPixels image({1, 5, 1});
    image.values = {0, 99, 100, 101, 255};
    Solarize(threshold, image.pixels());
    return image.values;
  };
  EXPECT_EQ(turned(100), (Bytes{0, 99, 155, 154, 0}));
  EXPECT_EQ(turned(99.5), (Bytes{0, 99, 155, 154, 0}));
  EXPECT_EQ(turned(100.5), (Bytes{0, 99, 100, 154, 0}));
  EXPECT_EQ(turned(0), (Bytes{255, 156, 155, 154, 0}));
  EXPECT_EQ(turned(255), (Bytes{0, 99, 100, 101, 0}));
}

// Every pair of a lowest and a highest value: (value - lowest) * 255 / range without its fraction.
// Where there is none, float32 may make it one less.
TEST(Tones, AutoContrastSpreadsEveryRange) {
  int less = 0;
  for (int lowest = 0; lowest < 256; ++lowest) {
    for (int highest = lowest + 1; highest < 256; ++highest) {
      OwnPixels image({1, highest - lowest + 1, 1});
      for (int k = lowest; k <= highest; ++k) {
        image.values[static_cast<size_t>(k - lowest)] = static_cast<uint8_t>(k);
      }
      AutoContrast(image.pixels());
      const int range = highest - lowest;
      for (int k = 0; k <= range; ++k) {
        const int value = image.values[static_cast<size_t>(k)];
        const bool is_less = value == k * 255 / range - 1 && k * 255 % range == 0;
        ASSERT_TRUE(is_less || value == k * 255 / range) << lowest << ' ' << highest << ' ' << k;
        if (is_less) ++less;
      }
    }
  }
  // Counted in what torchvision 0.29 makes of all these images.
  EXPECT_EQ(less, 3725);
}

TEST(Tones, AutoContrastLooksAtEachChannel) {
  OwnPixels image({1, 3, 3});
  image.values = {10, 7, 255, 60, 7, 0, 35, 7, 128};
  AutoContrast(image.pixels());
  // 127.5 is cut off; a channel of one value stays.
  EXPECT_EQ(image.values, (Bytes{0, 7, 255, 255, 7, 0, 127, 7, 128}));
}

TEST(Tones, EqualizeCountsThePixelsBelow) {
  OwnPixels image = Pattern();
  Equalize(image.pixels());
  for (int64_t c = 0; c < 3; ++c) {
    const std::vector<int64_t> before = ChannelOf(Pattern(), c);
    const std::vector<int64_t> after = ChannelOf(image, c);
    int64_t highest = 0, below_highest = 0;
    for (const int64_t value : before) highest = value > highest ? value : highest;
    for (const int64_t value : before) below_highest += value < highest ? 1 : 0;
    const int64_t step = below_highest / 255;
    ASSERT_GT(step, 1);
    for (size_t k = 0; k < before.size(); ++k) {
      int64_t below = 0;
      for (const int64_t value : before) below += value < before[k] ? 1 : 0;
      const int64_t spread = (below + step / 2) / step;
      ASSERT_EQ(after[k], spread > 255 ? 255 : spread);
    }
  }
}

TEST(Tones, EqualizeLeavesFewPixelsAlone) {
  // 254 pixels below the highest value: a step of 0.
  OwnPixels image({1, 255, 1});
  for (size_t k = 0; k < 255; ++k) image.values[k] = static_cast<uint8_t>(k / 2);
  const Bytes before = image.values;
  Equalize(image.pixels());
  EXPECT_EQ(image.values, before);
  // One more, and the step is 1.
  image = OwnPixels({1, 256, 1});
  for (size_t k = 0; k < 256; ++k) image.values[k] = static_cast<uint8_t>(k / 2);
  image.values[254] = 126;
  Equalize(image.pixels());
  EXPECT_EQ(image.values[0], 0);
  EXPECT_EQ(image.values[2], 2);
  EXPECT_EQ(image.values[255], 255);
  // One value only.
  image = OwnPixels({20, 30, 1});
  image.values.assign(600, 77);
  Equalize(image.pixels());
  EXPECT_EQ(image.values, Bytes(600, 77));
}

TEST(Tones, TakePartsOfImagesAndNone) {
  // The right half: what is left of it stays, and does not count.
  OwnPixels image({2, 4, 1});
  image.values = {0, 255, 10, 20, 255, 0, 15, 10};
  AutoContrast(image.pixels().Crop({2, 0, 2, 2}));
  EXPECT_EQ(image.values, (Bytes{0, 255, 0, 255, 255, 0, 127, 0}));
  OwnPixels none({0, 5, 3});
  AutoContrast(none.pixels());
  Equalize(none.pixels());
  EXPECT_TRUE(none.values.empty());
}

}  // namespace
}  // namespace millhopper
