// SPDX-License-Identifier: Apache-2.0
// gaussian_blur.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/operators/image/image_checks.h"

namespace millhopper {
namespace {

using Bytes = std::vector<uint8_t>;

using Ints = std::vector<int32_t>;

TEST(GaussianBlurOp, GivesTorchvisionsValues) {
  // Those of blur_test.cc.
  Bytes pattern;
  for (size_t k = 0; k < 20; ++k) pattern.push_back(static_cast<uint8_t>(20 + k * k / 5 + 3 * k));
  const LoDTensor x = MakeTensor<uint8_t>({1, 4, 5, 1}, pattern);
  EXPECT_EQ(
      ValuesOf<uint8_t>(
          RunImageOp("gaussian_blur", x, {{"kernel_size", Ints{5, 3}}, {"sigma", Floats{1.5f}}})),
      (Bytes{36, 38, 41, 45, 47, 48, 49, 54, 58, 60, 80, 82, 88, 94, 96, 93, 95, 102, 108, 110}));
}

TEST(GaussianBlurOp, DrawsSigma) {
  // One bright pixel: what it keeps tells sigma.
  constexpr int64_t kImages = 50;
  Bytes values(kImages * 9);
  for (size_t i = 0; i < kImages; ++i) values[9 * i + 4] = 255;
  const LoDTensor x = MakeTensor<uint8_t>({kImages, 1, 9, 1}, values);
  const auto out = ValuesOf<uint8_t>(
      RunImageOp("gaussian_blur", x, {{"kernel_size", Ints{9, 1}}, {"seed", int32_t{2}}}, 6));
  const RandomKey key = ImageOpKey(6, 2);
  for (uint64_t i = 0; i < kImages; ++i) {
    const double low = 0.1f;
    const double sigma = low + (2 - low) * UnitOf(key.Bits(i, 0));
    double sum = 0;
    for (int k = -4; k <= 4; ++k) sum += std::exp(-k * k / (2 * sigma * sigma));
    // The image's reflection adds nothing to the middle.
    EXPECT_NEAR(out[9 * i + 4], 255 / sum, 0.53) << "sigma " << sigma;
  }
}

TEST(GaussianBlurOp, DrawsForEachImage) {
  ExpectDrawsForEachImage("gaussian_blur", RandomImages({8, 9, 7, 3}), {{"kernel_size", Ints{5}}});
  EXPECT_EQ(
      RunImageOp("gaussian_blur", RandomImages({2, 0, 9, 3}), {{"kernel_size", Ints{5}}}).numel(),
      0);
}

TEST(GaussianBlurOp, Refuses) {
  const auto refused = [](const std::string& words, const Ints& sizes, const Floats& sigma) {
    ExpectRefused(words, "gaussian_blur", {{"X", RandomImages({1, 4, 9, 3})}}, {"Out"},
                  {{"kernel_size", sizes}, {"sigma", sigma}});
  };
  refused("'kernel_size' has the value 4; it is odd", {4}, {1});
  refused("'kernel_size' has the value 257", {3, 257}, {1});
  refused("'kernel_size' has the value -3", {-3}, {1});
  refused("'kernel_size' has 3 values", {3, 3, 3}, {1});
  refused("'kernel_size' has 0 values", {}, {1});
  refused("'sigma' has the value 0; it must be above 0", {3}, {0});
  refused("'sigma' has the value inf", {3}, {1, INFINITY});
  refused("'sigma' asks for the range from 2 to 1", {3}, {2, 1});
  refused("'sigma' has 3 values", {3}, {1, 2, 3});
  // Half of 9 is 4, and the images have 4 rows.
  refused("a kernel of 3 x 9 pixels needs images of at least 2 pixels along x and 5 along y",
          {3, 9}, {1});
  ExpectRefused("uint8 images with 1 or 3 channels", "gaussian_blur",
                {{"X", RandomImages({1, 5, 5, 2})}}, {"Out"}, {{"kernel_size", Ints{3}}});
}

}  // namespace
}  // namespace millhopper
