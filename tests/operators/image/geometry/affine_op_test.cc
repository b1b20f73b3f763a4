// SPDX-License-Identifier: Apache-2.0
// affine.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/operators/image/image_checks.h"

namespace millhopper {
namespace {

using Bytes = std::vector<uint8_t>;

// One row of bytes, moved, scaled or sheared.
LoDTensor Row() { return MakeTensor<uint8_t>({1, 1, 4, 1}, {10, 20, 30, 40}); }

TEST(AffineOp, ScalesAndTurns) {
  EXPECT_EQ(ValuesOf<uint8_t>(RunImageOp("affine", Row())), (Bytes{10, 20, 30, 40}));
  EXPECT_EQ(ValuesOf<uint8_t>(RunImageOp("affine", Row(), {{"scale", Floats{2, 2}}})),
            (Bytes{20, 20, 30, 30}));
  // Between 20 and 30 at a quarter.
  EXPECT_EQ(ValuesOf<uint8_t>(RunImageOp(
                "affine", Row(),
                {{"scale", Floats{2, 2}}, {"interpolation", std::string("bilinear")}}))[1],
            23);
  const LoDTensor square = MakeTensor<uint8_t>({1, 2, 2, 1}, {1, 2, 3, 4});
  EXPECT_EQ(ValuesOf<uint8_t>(RunImageOp("affine", square, {{"degrees", Floats{90, 90}}})),
            (Bytes{3, 1, 4, 2}));
}

TEST(AffineOp, ShearsAlongX) {
  // Seen from the middle, row y moves against x by y * tan(45 degrees).
  const LoDTensor x = MakeTensor<uint8_t>({1, 3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_EQ(ValuesOf<uint8_t>(RunImageOp("affine", x, {{"shear", Floats{45, 45}}})),
            (Bytes{0, 1, 2, 4, 5, 6, 8, 9, 0}));
  EXPECT_EQ(ValuesOf<uint8_t>(RunImageOp("affine", x, {{"shear", Floats{0, 0, 45, 45}}})),
            (Bytes{0, 2, 6, 1, 5, 9, 4, 8, 0}));
}

TEST(AffineOp, DrawsWholePixelsToMoveBy) {
  constexpr int64_t kImages = 50;
  const LoDTensor x = RandomImages({kImages, 6, 10, 3});
  const LoDTensor out = RunImageOp(
      "affine", x, {{"translate", Floats{0.5f, 0.25f}}, {"fill", std::vector<int32_t>{7}}}, 5);
  const RandomKey key = ImageOpKey(5);
  for (int64_t i = 0; i < kImages; ++i) {
    const auto image = static_cast<uint64_t>(i);
    const auto right = std::lrint(-5 + 10 * UnitOf(key.Bits(image, 1)));
    const auto down = std::lrint(-1.5 + 3 * UnitOf(key.Bits(image, 2)));
    for (int64_t row = 0; row < 6; ++row) {
      for (int64_t column = 0; column < 10; ++column) {
        const int64_t from_x = column - right;
        const int64_t from_y = row - down;
        const bool inside = from_x >= 0 && from_x < 10 && from_y >= 0 && from_y < 6;
        for (int64_t c = 0; c < 3; ++c) {
          EXPECT_EQ(out.data<uint8_t>()[((i * 6 + row) * 10 + column) * 3 + c],
                    inside ? x.data<uint8_t>()[((i * 6 + from_y) * 10 + from_x) * 3 + c] : 7);
        }
      }
    }
  }
}

// All at once, against matrices: a pixel comes from M^-1 (p - middle - t) + middle with
// M = scale * rotation * shear.
TEST(AffineOp, DrawsAllAmounts) {
  constexpr int64_t kImages = 10;
  const LoDTensor x = SmoothImages({kImages, 20, 24, 1});
  const LoDTensor out = RunImageOp("affine", x,
                                   {{"degrees", Floats{20}},
                                    {"translate", Floats{0.2f, 0.2f}},
                                    {"scale", Floats{0.5f, 1.5f}},
                                    {"shear", Floats{-20, 20, -10, 10}},
                                    {"interpolation", std::string("bilinear")}});
  const RandomKey key = ImageOpKey();
  const double degree = std::acos(-1) / 180;
  int inside = 0;
  for (int64_t i = 0; i < kImages; ++i) {
    const auto u = [&](uint64_t draw) { return UnitOf(key.Bits(static_cast<uint64_t>(i), draw)); };
    const double turn = (-20 + 40 * u(0)) * degree;
    const double part = 0.2f;
    const double right = std::rint(24 * part * (2 * u(1) - 1));
    const double down = std::rint(20 * part * (2 * u(2) - 1));
    const double scale = 0.5 + u(3);
    const double tan_x = std::tan((-20 + 40 * u(4)) * degree);
    const double tan_y = std::tan((-10 + 20 * u(5)) * degree);
    // Shear along x, then along y, then the turn.
    const double sheared[] = {1, -tan_x, -tan_y, 1 + tan_x * tan_y};
    const double m[] = {scale * (std::cos(turn) * sheared[0] - std::sin(turn) * sheared[2]),
                        scale * (std::cos(turn) * sheared[1] - std::sin(turn) * sheared[3]),
                        scale * (std::sin(turn) * sheared[0] + std::cos(turn) * sheared[2]),
                        scale * (std::sin(turn) * sheared[1] + std::cos(turn) * sheared[3])};
    const double determinant = m[0] * m[3] - m[1] * m[2];
    for (int64_t row = 0; row < 20; ++row) {
      for (int64_t column = 0; column < 24; ++column) {
        const double dx = static_cast<double>(column) - 11.5 - right;
        const double dy = static_cast<double>(row) - 9.5 - down;
        const double from_x = (m[3] * dx - m[1] * dy) / determinant + 11.5;
        const double from_y = (-m[2] * dx + m[0] * dy) / determinant + 9.5;
        if (from_x < 0 || from_y < 0 || from_x > 23 || from_y > 19) continue;
        ++inside;
        EXPECT_NEAR(out.data<uint8_t>()[(i * 20 + row) * 24 + column],
                    20 + 3 * from_y + 4 * from_x + static_cast<double>(i), 0.51);
      }
    }
  }
  EXPECT_GT(inside, 1500);
}

TEST(AffineOp, Refuses) {
  const SlotTensors x = {{"X", Row()}};
  ExpectRefused("'scale' asks for the range from 0 to 1", "affine", x, {"Out"},
                {{"scale", Floats{0, 1}}});
  ExpectRefused("'scale' has one value", "affine", x, {"Out"}, {{"scale", Floats{2}}});
  ExpectRefused("within -89 and 89", "affine", x, {"Out"}, {{"shear", Floats{90}}});
  ExpectRefused("'shear' has 3 values", "affine", x, {"Out"}, {{"shear", Floats{1, 2, 3}}});
  ExpectRefused("'translate' must be empty", "affine", x, {"Out"}, {{"translate", Floats{2, 0}}});
}

}  // namespace
}  // namespace millhopper
