// SPDX-License-Identifier: Apache-2.0
// elastic. tests/python/images/test_drawn.py compares its pixels with torchvision's.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/operators/image/image_checks.h"

namespace millhopper {
namespace {

constexpr int64_t kRows = 30, kColumns = 44;

TEST(ElasticOp, MovesPixelsByWhatIsDrawn) {
  // Without smoothing a pixel comes from its place plus half of alpha times its draw.
  const LoDTensor image = SmoothImages({1, kRows, kColumns, 1});
  const LoDTensor out = RunImageOp(
      "elastic", image,
      {{"alpha", Floats{4, 6}}, {"sigma", Floats{0}}, {"interpolation", std::string("bilinear")}},
      7);
  const RandomKey key = ImageOpKey(7);
  int inside = 0;
  for (int64_t row = 0; row < kRows; ++row) {
    for (int64_t column = 0; column < kColumns; ++column) {
      const auto v = static_cast<uint64_t>(row * kColumns + column);
      const double x = static_cast<double>(column) + 2 * (2 * UnitOf(key.Bits(0, v)) - 1);
      const double y =
          static_cast<double>(row) + 3 * (2 * UnitOf(key.Bits(0, kRows * kColumns + v)) - 1);
      if (x < 0 || y < 0 || x > kColumns - 1 || y > kRows - 1) continue;
      ++inside;
      const double value = 20 + 3 * y + 4 * x;
      if (value > 248) continue;  // where the images begin again
      EXPECT_NEAR(out.data<uint8_t>()[v], value, 0.51);
    }
  }
  EXPECT_GT(inside, 1000);
}

TEST(ElasticOp, MovesPlacesTheOtherWay) {
  const Attributes attributes = {
      {"alpha", Floats{60}}, {"sigma", Floats{4}}, {"interpolation", std::string("bilinear")}};
  const std::vector<float> points = {10, 10, 20, 22, 31, 15};
  const auto made = RunOp("elastic",
                          {{"X", SmoothImages({1, kRows, kColumns, 1})},
                           {"Points", MakeTensor<float>({1, 3, 2}, points)},
                           {"Boxes", MakeTensor<float>({1, 4}, {10, 10, 20, 22})}},
                          {"Out", "OutPoints", "OutBoxes"}, attributes, {{}, 3});
  const std::vector<float> moved = ValuesOf<float>(made.at("OutPoints"));
  double farthest = 0;
  for (size_t k = 0; k < 3; ++k) {
    const double x = double{moved[2 * k]}, y = double{moved[2 * k + 1]};
    farthest =
        std::max(farthest, std::hypot(x - double{points[2 * k]}, y - double{points[2 * k + 1]}));
    const auto column = static_cast<int64_t>(x), row = static_cast<int64_t>(y);
    // What is seen where a point has gone is what was seen at the point, nearly.
    const double wanted = 20 + 3 * (double{points[2 * k + 1]} - 0.5 - y + std::floor(y) + 0.5) +
                          4 * (double{points[2 * k]} - 0.5 - x + std::floor(x) + 0.5);
    EXPECT_NEAR(made.at("Out").data<uint8_t>()[row * kColumns + column], wanted, 4);
  }
  EXPECT_GT(farthest, 0.3);
  const std::vector<float> box = ValuesOf<float>(made.at("OutBoxes"));
  EXPECT_LE(box[0], moved[0]);
  EXPECT_LE(box[1], moved[1]);
  EXPECT_GE(box[2], moved[2]);
  EXPECT_GE(box[3], moved[3]);
}

TEST(ElasticOp, LeavesImagesWithoutAlpha) {
  const LoDTensor image = RandomImages({2, kRows, kColumns, 3});
  EXPECT_EQ(ValuesOf<uint8_t>(RunImageOp("elastic", image, {{"alpha", Floats{0}}})),
            ValuesOf<uint8_t>(image));
  ExpectDrawsForEachImage("elastic", RandomImages({6, kRows, kColumns, 3}), {});
}

TEST(ElasticOp, Refuses) {
  const SlotTensors x = {{"X", RandomImages({1, 20, 40, 3})}};
  ExpectRefused("each side must be longer than 21 pixels", "elastic", x, {"Out"});
  ExpectRefused("'sigma' has the value 101", "elastic", x, {"Out"}, {{"sigma", Floats{101}}});
  ExpectRefused("'alpha' has the value -1", "elastic", x, {"Out"}, {{"alpha", Floats{-1}}});
  ExpectRefused("'alpha' has 3 values", "elastic", x, {"Out"}, {{"alpha", Floats{1, 2, 3}}});
  ExpectRefused("elastic has no Matrix", "elastic", x, {"Out", "Matrix"}, {{"sigma", Floats{1}}});
}

}  // namespace
}  // namespace millhopper
