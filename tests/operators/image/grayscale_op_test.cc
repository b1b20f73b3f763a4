// SPDX-License-Identifier: Apache-2.0
// grayscale.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/operators/image/image_checks.h"

namespace millhopper {
namespace {

TEST(GrayscaleOp, IsTheLumaOfPillow) {
  // Values of Image.convert("L") of Pillow 9.4.
  const LoDTensor x = MakeTensor<uint8_t>(
      {1, 2, 3, 3}, {255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255, 10, 20, 30, 1, 2, 4});
  const LoDTensor out = RunImageOp("grayscale", x);
  EXPECT_EQ(out.dims(), (Dims{1, 2, 3, 1}));
  EXPECT_EQ(ValuesOf<uint8_t>(out), (std::vector<uint8_t>{76, 150, 29, 255, 18, 2}));
}

TEST(GrayscaleOp, WritesThreeEqualChannelsWithAProbability) {
  constexpr int kImages = 200;
  const LoDTensor x = RandomImages({kImages, 1, 1, 3});
  const auto in = ValuesOf<uint8_t>(x);
  const auto out = ValuesOf<uint8_t>(
      RunImageOp("grayscale", x, {{"num_output_channels", int32_t{3}}, {"p", 0.5f}}, 3));
  const RandomKey key = ImageOpKey(3);
  for (size_t i = 0; i < kImages; ++i) {
    const bool gray = UnitOf(key.Bits(i, 0)) < 0.5;
    const double luma = 0.299 * in[3 * i] + 0.587 * in[3 * i + 1] + 0.114 * in[3 * i + 2];
    for (size_t c = 0; c < 3; ++c) {
      EXPECT_NEAR(out[3 * i + c], gray ? luma : in[3 * i + c], gray ? 0.51 : 0) << i;
      if (gray) {
        EXPECT_EQ(out[3 * i + c], out[3 * i]);
      }
    }
  }
}

TEST(GrayscaleOp, LeavesGrayAsItIs) {
  const LoDTensor x = RandomImages({2, 3, 4, 1});
  EXPECT_EQ(ValuesOf<uint8_t>(RunImageOp("grayscale", x)), ValuesOf<uint8_t>(x));
}

TEST(GrayscaleOp, Refuses) {
  const LoDTensor x = RandomImages({1, 2, 2, 3});
  ExpectRefused("'num_output_channels' is 2; it is 1 or 3", "grayscale", {{"X", x}}, {"Out"},
                {{"num_output_channels", int32_t{2}}});
  ExpectRefused("images that stay as they are need", "grayscale", {{"X", x}}, {"Out"},
                {{"p", 0.5f}});
  ExpectRefused("uint8 images with 1 or 3 channels", "grayscale",
                {{"X", RandomImages({1, 2, 2, 4})}}, {"Out"});
  ExpectRefused("uint8 images with 1 or 3 channels", "grayscale",
                {{"X", MakeTensor<float>({1, 1, 1, 3}, {1, 2, 3})}}, {"Out"});
}

}  // namespace
}  // namespace millhopper
