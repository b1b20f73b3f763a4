// SPDX-License-Identifier: Apache-2.0
// rotate.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/operators/image/image_checks.h"

namespace millhopper {
namespace {

using Bytes = std::vector<uint8_t>;
const Attribute kBilinear = std::string("bilinear");

LoDTensor Small() { return MakeTensor<uint8_t>({1, 2, 3, 1}, {1, 2, 3, 4, 5, 6}); }

TEST(RotateOp, QuarterAndHalfTurnsAreExact) {
  EXPECT_EQ(ValuesOf<uint8_t>(RunImageOp("rotate", Small(), {{"degrees", Floats{180, 180}}})),
            (Bytes{6, 5, 4, 3, 2, 1}));
  const LoDTensor square = MakeTensor<uint8_t>({1, 2, 2, 1}, {1, 2, 3, 4});
  for (const char* interpolation : {"nearest", "bilinear"}) {
    const auto turned = [&](float degrees) {
      return ValuesOf<uint8_t>(RunImageOp(
          "rotate", square,
          {{"degrees", Floats{degrees, degrees}}, {"interpolation", std::string(interpolation)}}));
    };
    // Counter-clockwise: what was on the right is above.
    EXPECT_EQ(turned(90), (Bytes{2, 4, 1, 3}));
    EXPECT_EQ(turned(-90), (Bytes{3, 1, 4, 2}));
    EXPECT_EQ(turned(0), (Bytes{1, 2, 3, 4}));
  }
}

TEST(RotateOp, TurnsAboutTheCenterAndFills) {
  // A half turn about the point between the first two columns.
  EXPECT_EQ(ValuesOf<uint8_t>(RunImageOp("rotate", Small(),
                                         {{"degrees", Floats{180, 180}},
                                          {"center", Floats{1, 1}},
                                          {"fill", std::vector<int32_t>{99}}})),
            (Bytes{5, 4, 99, 2, 1, 99}));
}

TEST(RotateOp, ExpandsToTheWholeImage) {
  RunOpOptions sized;
  sized.dims_by_values = true;
  const auto turned = [&](float degrees, const LoDTensor& x = Small()) {
    return RunOp("rotate", {{"X", x}}, {"Out"},
                 {{"degrees", Floats{degrees, degrees}}, {"expand", true}}, sized)
        .at("Out");
  };
  EXPECT_EQ(turned(90).dims(), (Dims{1, 3, 2, 1}));
  EXPECT_EQ(ValuesOf<uint8_t>(turned(90)), (Bytes{3, 6, 2, 5, 1, 4}));
  EXPECT_EQ(ValuesOf<uint8_t>(turned(-270)), (Bytes{3, 6, 2, 5, 1, 4}));
  EXPECT_EQ(ValuesOf<uint8_t>(turned(180)), (Bytes{6, 5, 4, 3, 2, 1}));
  // A square of 10 pixels on its corner is 14.1 pixels across, 7.07 to each side of the middle.
  EXPECT_EQ(turned(45, SmoothImages({1, 10, 10, 3})).dims(), (Dims{1, 16, 16, 3}));
  // Boxes and masks go along.
  const auto made = RunOp(
      "rotate",
      {{"X", Small()}, {"Masks", Small()}, {"Boxes", MakeTensor<float>({1, 4}, {0, 0, 1, 2})}},
      {"Out", "OutMasks", "OutBoxes"}, {{"degrees", Floats{90, 90}}, {"expand", true}}, sized);
  EXPECT_EQ(ValuesOf<uint8_t>(made.at("OutMasks")), (Bytes{3, 6, 2, 5, 1, 4}));
  const std::vector<float> box = ValuesOf<float>(made.at("OutBoxes"));
  const Floats wanted = {0, 2, 2, 3};
  for (size_t k = 0; k < 4; ++k) EXPECT_NEAR(box[k], wanted[k], 1e-6);
}

TEST(RotateOp, MixesSixteenPixels) {
  // On a plane cubic weights of a = -1 go from pixel to pixel like x + x (1 - x) (1 - 2 x).
  const LoDTensor plane = SmoothImages({1, 20, 20, 1});
  const LoDTensor out = RunImageOp(
      "affine", plane, {{"scale", Floats{2, 2}}, {"interpolation", std::string("bicubic")}});
  const auto bent = [](double at) {
    const double part = at - std::floor(at);
    return at + part * (1 - part) * (1 - 2 * part);
  };
  for (int row = 4; row < 16; ++row) {
    for (int column = 4; column < 16; ++column) {
      const double x = (column - 9.5) / 2 + 9.5, y = (row - 9.5) / 2 + 9.5;
      EXPECT_EQ(out.data<uint8_t>()[20 * row + column],
                static_cast<int>(20 + 3 * bent(y) + 4 * bent(x) + 1e-9));
    }
  }
}

TEST(RotateOp, DrawsTheAngleAndMixesFourPixels) {
  const Dims dims = {4, 24, 30, 3};
  const LoDTensor x = SmoothImages(dims);
  const LoDTensor out = RunImageOp(
      "rotate", x, {{"degrees", Floats{40}}, {"interpolation", kBilinear}, {"seed", int32_t{2}}});
  const RandomKey key = ImageOpKey(0, 2);
  int inside = 0;
  for (uint64_t i = 0; i < 4; ++i) {
    const double angle = (-40 + 80 * UnitOf(key.Bits(i, 0))) * std::acos(-1) / 180;
    for (int64_t row = 0; row < 24; ++row) {
      for (int64_t column = 0; column < 30; ++column) {
        // y points down, so that a counter-clockwise turn is undone by this one.
        const double dx = static_cast<double>(column) - 14.5;
        const double dy = static_cast<double>(row) - 11.5;
        const double from_x = std::cos(angle) * dx - std::sin(angle) * dy + 14.5;
        const double from_y = std::sin(angle) * dx + std::cos(angle) * dy + 11.5;
        const uint8_t* const pixel =
            out.data<uint8_t>() + ((static_cast<int64_t>(i) * 24 + row) * 30 + column) * 3;
        if (from_x <= -1 || from_y <= -1 || from_x >= 30 || from_y >= 24) {
          EXPECT_EQ(pixel[0], 0);
        } else if (from_x >= 0 && from_y >= 0 && from_x <= 29 && from_y <= 23) {
          ++inside;
          for (int c = 0; c < 3; ++c) {
            // The images are planes, which bilinear interpolation continues exactly.
            EXPECT_NEAR(pixel[c], 20 + 3 * from_y + 4 * from_x + 17 * c + static_cast<double>(i),
                        0.51);
          }
        }
      }
    }
  }
  EXPECT_GT(inside, 1200);
}

TEST(RotateOp, Refuses) {
  const SlotTensors x = {{"X", Small()}};
  ExpectRefused("'degrees'", "rotate", x, {"Out"});
  ExpectRefused("'center' must be {x, y}", "rotate", x, {"Out"},
                {{"degrees", Floats{1}}, {"center", Floats{1}}});
  ExpectRefused("'fill' has the value 256", "rotate", x, {"Out"},
                {{"degrees", Floats{1}}, {"fill", std::vector<int32_t>{256}}});
  ExpectRefused("'fill' has 3 values", "rotate", x, {"Out"},
                {{"degrees", Floats{1}}, {"fill", std::vector<int32_t>{1, 2, 3}}});
  ExpectRefused("with 'expand' it is the middle", "rotate", x, {"Out"},
                {{"degrees", Floats{1}}, {"expand", true}, {"center", Floats{1, 1}}});
  ExpectRefused("image 0 becomes", "rotate", {{"X", SmoothImages({9, 30, 3, 1})}}, {"Out"},
                {{"degrees", Floats{80}}, {"expand", true}});
}

}  // namespace
}  // namespace millhopper
