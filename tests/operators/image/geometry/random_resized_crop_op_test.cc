// SPDX-License-Identifier: Apache-2.0
// random_resized_crop.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "framework/base/random.h"
#include "tests/files/images.h"
#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Ints = std::vector<int32_t>;
using Floats = std::vector<float>;

struct Part {
  int64_t y, x, height, width;
};

// What the description of the operator says, computed anew.
Part Drawn(const RandomKey& key, uint64_t i, int64_t height, int64_t width, double low_scale,
           double low_ratio, double high_ratio) {
  const auto unit = [&](uint64_t k) { return static_cast<double>(key.Bits(i, k) >> 11) / 0x1p53; };
  for (uint64_t attempt = 0; attempt < 10; ++attempt) {
    const double area =
        (low_scale + (1 - low_scale) * unit(4 * attempt)) * static_cast<double>(height * width);
    const double log_ratio =
        std::log(low_ratio) + (std::log(high_ratio) - std::log(low_ratio)) * unit(4 * attempt + 1);
    const auto w = static_cast<int64_t>(std::lrint(std::sqrt(area * std::exp(log_ratio))));
    const auto h = static_cast<int64_t>(std::lrint(std::sqrt(area / std::exp(log_ratio))));
    if (w < 1 || h < 1 || w > width || h > height) continue;
    const auto below = [&](int64_t n, uint64_t k) {
      return static_cast<int64_t>(key.Below(static_cast<uint64_t>(n), i, k));
    };
    return {below(height - h + 1, 4 * attempt + 2), below(width - w + 1, 4 * attempt + 3), h, w};
  }
  return {-1, -1, -1, -1};
}

TEST(RandomResizedCropOp, ResizesTheDrawnPart) {
  constexpr int64_t kImages = 60, kHeight = 20, kWidth = 31;
  const LoDTensor x = RandomImages({kImages, kHeight, kWidth, 3});
  const Attributes attributes = {{"size", Ints{8, 9}}, {"seed", int32_t{2}}};
  const std::vector<uint8_t> out = ValuesOf<uint8_t>(
      RunOp("random_resized_crop", {{"X", x}}, {"Out"}, attributes, {{}, 5}).at("Out"));
  const RandomKey key(5, 2, "out_variable");
  for (uint64_t i = 0; i < kImages; ++i) {
    const Part part = Drawn(key, i, kHeight, kWidth, 0.08f, 0.75f, 4.0f / 3);
    ASSERT_GE(part.y, 0);
    const std::vector<uint8_t> pixels = ValuesOf<uint8_t>(x);
    const auto bytes = static_cast<ptrdiff_t>(kHeight * kWidth * 3);
    const auto begin = pixels.begin() + static_cast<ptrdiff_t>(i) * bytes;
    const LoDTensor image = MakeTensor<uint8_t>({1, kHeight, kWidth, 3}, {begin, begin + bytes});
    const LoDTensor cropped =
        RunOp("crop", {{"X", image}}, {"Out"},
              {{"size", Ints{static_cast<int32_t>(part.height), static_cast<int32_t>(part.width)}},
               {"top", static_cast<int32_t>(part.y)},
               {"left", static_cast<int32_t>(part.x)}})
            .at("Out");
    const std::vector<uint8_t> expected = ValuesOf<uint8_t>(
        RunOp("resize", {{"X", cropped}}, {"Out"}, {{"size", Ints{8, 9}}}).at("Out"));
    const auto at = out.begin() + static_cast<ptrdiff_t>(i) * 8 * 9 * 3;
    ASSERT_EQ(std::vector<uint8_t>(at, at + ptrdiff_t{8} * 9 * 3), expected) << i;
  }
}

// No part of this ratio fits at the drawn sizes, so that it is the middle.
TEST(RandomResizedCropOp, FallsBackToTheMiddle) {
  const LoDTensor x = NumberedImage(2, 9);
  const LoDTensor out = RunOp("random_resized_crop", {{"X", x}}, {"Out"},
                              {{"size", Ints{2, 2}},
                               {"scale", Floats{1, 1}},
                               {"ratio", Floats{1, 1}},
                               {"interpolation", std::string("nearest")}})
                            .at("Out");
  // 2 x 2 pixels in the middle of 9 columns begin at (9 - 2) / 2.
  EXPECT_EQ(ValuesOf<uint8_t>(out), (std::vector<uint8_t>{3, 4, 13, 14}));
}

TEST(RandomResizedCropOp, RefusesWrongRanges) {
  const LoDTensor x = NumberedImage(4, 4);
  for (const Floats& wrong : {Floats{0, 1}, Floats{2, 1}, Floats{1}, Floats{NAN, 1}}) {
    ExpectRefused("attribute 'ratio' is not [lowest, highest], both above 0", "random_resized_crop",
                  {{"X", x}}, {"Out"}, {{"size", Ints{2, 2}}, {"ratio", wrong}});
  }
}

}  // namespace
}  // namespace millhopper
