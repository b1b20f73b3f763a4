// SPDX-License-Identifier: Apache-2.0
// perspective.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/operators/image/image_checks.h"

namespace millhopper {
namespace {

using Bytes = std::vector<uint8_t>;
using Outputs = std::map<std::string, LoDTensor>;

constexpr int64_t kPlaneHeight = 24, kPlaneWidth = 31;
const Floats kPlaneCorners = {0, 0, 30, 0, 30, 23, 0, 23};

using Matrix = std::array<double, 9>;

// The matrix of image i.
Matrix MatrixOf(const Outputs& made, uint64_t i) {
  Matrix matrix;
  std::copy_n(made.at("Matrix").data<double>() + 9 * i, 9, matrix.begin());
  return matrix;
}

// The inverse, but for a factor.
Matrix Back(const Matrix& m) {
  Matrix inverse;
  for (size_t row = 0; row < 3; ++row) {
    for (size_t column = 0; column < 3; ++column) {
      const auto at = [&](size_t down, size_t across) {
        return m[(column + down) % 3 * 3 + (row + across) % 3];
      };
      inverse[3 * row + column] = at(1, 1) * at(2, 2) - at(1, 2) * at(2, 1);
    }
  }
  return inverse;
}

// Where a place goes.
std::pair<double, double> Projected(const Matrix& m, double x, double y) {
  const double w = m[6] * x + m[7] * y + m[8];
  return {(m[0] * x + m[1] * y + m[2]) / w, (m[3] * x + m[4] * y + m[5]) / w};
}

TEST(PerspectiveOp, TakesGivenCornersToGivenPlaces) {
  const Floats to = {3, 2, 27, 1, 29, 20, 1, 22};
  const Outputs made =
      RunOp("perspective", {{"X", SmoothImages({1, kPlaneHeight, kPlaneWidth, 3})}},
            {"Out", "Matrix"}, {{"startpoints", kPlaneCorners}, {"endpoints", to}});
  EXPECT_EQ(made.at("Matrix").dims(), (Dims{1, 3, 3}));
  for (size_t k = 0; k < 4; ++k) {
    const auto [x, y] = Projected(MatrixOf(made, 0), double{kPlaneCorners[2 * k]},
                                  double{kPlaneCorners[2 * k + 1]});
    EXPECT_NEAR(x, double{to[2 * k]}, 1e-12);
    EXPECT_NEAR(y, double{to[2 * k + 1]}, 1e-12);
  }
}

TEST(PerspectiveOp, MovesAndMirrorsWholePixelsExactly) {
  const LoDTensor image = MakeTensor<uint8_t>({1, 2, 3, 1}, {1, 2, 3, 4, 5, 6});
  for (const char* const filter : {"nearest", "bilinear", "bicubic"}) {
    const auto made = [&](const Floats& to) {
      return ValuesOf<uint8_t>(RunImageOp("perspective", image,
                                          {{"startpoints", Floats{0, 0, 3, 0, 3, 2, 0, 2}},
                                           {"endpoints", to},
                                           {"fill", std::vector<int32_t>{9}},
                                           {"interpolation", std::string(filter)}}));
    };
    EXPECT_EQ(made({0, 0, 3, 0, 3, 2, 0, 2}), (Bytes{1, 2, 3, 4, 5, 6})) << filter;
    EXPECT_EQ(made({1, 0, 4, 0, 4, 2, 1, 2}), (Bytes{9, 1, 2, 9, 4, 5})) << filter;
    EXPECT_EQ(made({3, 0, 0, 0, 0, 2, 3, 2}), (Bytes{3, 2, 1, 6, 5, 4})) << filter;
  }
}

TEST(PerspectiveOp, DrawsCornersAndMixesFourPixels) {
  constexpr int64_t kImages = 40;
  const Outputs made =
      RunOp("perspective", {{"X", SmoothImages({kImages, kPlaneHeight, kPlaneWidth, 3})}},
            {"Out", "Matrix"},
            {{"distortion_scale", 0.5f}, {"p", 0.7f}, {"interpolation", std::string("bilinear")}},
            {{}, 3});
  const RandomKey key = ImageOpKey(3);
  // Half of the sides of 31 and 24 pixels, halved again, rounded down.
  constexpr uint64_t kPlacesX = 8, kPlacesY = 7;
  int moved = 0;
  int64_t inside = 0;
  for (uint64_t i = 0; i < static_cast<uint64_t>(kImages); ++i) {
    const bool is_moved = UnitOf(key.Bits(i, 0)) < 0.7;
    moved += is_moved ? 1 : 0;
    for (size_t k = 0; k < 4; ++k) {
      const double x = double{kPlaneCorners[2 * k]}, y = double{kPlaneCorners[2 * k + 1]};
      const auto dx = static_cast<double>(is_moved ? key.Below(kPlacesX, i, 1 + 2 * k) : 0);
      const auto dy = static_cast<double>(is_moved ? key.Below(kPlacesY, i, 2 + 2 * k) : 0);
      const auto place = Projected(MatrixOf(made, i), x, y);
      EXPECT_NEAR(place.first, x + (x > 0 ? -dx : dx), 1e-9) << i;
      EXPECT_NEAR(place.second, y + (y > 0 ? -dy : dy), 1e-9) << i;
    }
    // The images are planes, which bilinear interpolation continues exactly.
    const Matrix back = Back(MatrixOf(made, i));
    const uint8_t* pixel = made.at("Out").data<uint8_t>() + i * kPlaneHeight * kPlaneWidth * 3;
    for (int row = 0; row < kPlaneHeight; ++row) {
      for (int column = 0; column < kPlaneWidth; ++column, pixel += 3) {
        const auto [x, y] = Projected(back, column + 0.5, row + 0.5);
        if (x < 0.5 || y < 0.5 || x > kPlaneWidth - 0.5 || y > kPlaneHeight - 0.5) continue;
        EXPECT_NEAR(*pixel, 20 + 3 * (y - 0.5) + 4 * (x - 0.5) + static_cast<double>(i), 0.51);
        ++inside;
      }
    }
  }
  EXPECT_TRUE(moved > 15 && moved < kImages) << moved;
  EXPECT_GT(inside, 10000);
}

TEST(PerspectiveOp, LeavesWhatHasNoCorners) {
  const LoDTensor line = MakeTensor<uint8_t>({1, 1, 3, 1}, {7, 8, 9});
  EXPECT_EQ(ValuesOf<uint8_t>(RunImageOp("perspective", line)), (Bytes{7, 8, 9}));
}

TEST(PerspectiveOp, DrawsForEachImage) {
  ExpectDrawsForEachImage("perspective", RandomImages({20, 16, 19, 3}), {{"p", 0.8f}});
}

TEST(PerspectiveOp, Refuses) {
  const SlotTensors x = {{"X", SmoothImages({1, 4, 4, 1})}};
  const auto expect = [&](const std::string& words, const Attributes& attributes) {
    ExpectRefused(words, "perspective", x, {"Out"}, attributes);
  };
  expect("'distortion_scale' is 1.5", {{"distortion_scale", 1.5f}});
  expect("'p' is -1", {{"p", -1.0f}});
  expect("are given together", {{"endpoints", kPlaneCorners}});
  expect("'startpoints' has 2 values",
         {{"startpoints", Floats{1, 2}}, {"endpoints", kPlaneCorners}});
  expect("three of them lie on a line",
         {{"startpoints", Floats{0, 0, 1, 1, 2, 2, 0, 5}}, {"endpoints", kPlaneCorners}});
  expect("not finite",
         {{"startpoints", Floats{0, 0, 1, 0, NAN, 2, 0, 5}}, {"endpoints", kPlaneCorners}});
}

}  // namespace
}  // namespace millhopper
