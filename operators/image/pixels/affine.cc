// SPDX-License-Identifier: Apache-2.0
#include "operators/image/pixels/affine.h"

#include <algorithm>
#include <cmath>

namespace millhopper {
namespace {

// In units of 2^-24. What is larger than `most` leads out of every image anyway.
int64_t Fixed(double value, double most) {
  return std::llrint(std::clamp(value, -most, most) * static_cast<double>(FixedPlace::kOne));
}

// One coordinate of the place that pixel (x, y) of an image of shape `to` is taken from: start + x
// * step, where the image that it is taken from has this side. With sides of at most 2^20 and
// factors of at most 2^16 no sum has more than 62 bits.
struct Coordinate {
  Coordinate(double of_x, double of_y, double offset, const ImageShape& to, int64_t side)
      : half_x(Fixed(of_x / 2, 1 << 16)),
        half_y(Fixed(of_y / 2, 1 << 16)),
        // The middle of pixel x is (2 x + 1 - width) / 2 seen from the middle of the image.
        at_zero(Fixed(offset + static_cast<double>(side - 1) / 2, 0x1p36) +
                half_x * (1 - to.width) + half_y * (1 - to.height)) {}
  int64_t Start(int64_t y) const { return at_zero + 2 * half_y * y; }
  int64_t step() const { return 2 * half_x; }

  int64_t half_x, half_y, at_zero;
};

}  // namespace

AffineMap InverseOf(const Affine& affine) {
  constexpr double kRadians = 0.017453292519943295;  // in a degree
  const double turn = affine.clockwise * kRadians;
  const double shear_x = std::tan(affine.shear_x * kRadians);
  const double shear_y = affine.shear_y * kRadians;
  // Turning and shearing without scale: (a b; c d), of determinant 1.
  const double a = std::cos(turn - shear_y) / std::cos(shear_y);
  const double b = -a * shear_x - std::sin(turn);
  const double c = std::sin(turn - shear_y) / std::cos(shear_y);
  const double d = -c * shear_x + std::cos(turn);
  AffineMap map;
  map.xx = d / affine.scale;
  map.xy = -b / affine.scale;
  map.yx = -c / affine.scale;
  map.yy = a / affine.scale;
  const double x = -affine.centre_x - affine.right;
  const double y = -affine.centre_y - affine.down;
  map.x0 = map.xx * x + map.xy * y + affine.centre_x;
  map.y0 = map.yx * x + map.yy * y + affine.centre_y;
  return map;
}

void Warp(const PixelsOf<const uint8_t>& from, const AffineMap& map, const Sampling& sampling,
          const PixelsOf<uint8_t>& to) {
  const Coordinate horizontal(map.xx, map.xy, map.x0, to.shape, from.shape.width);
  const Coordinate vertical(map.yx, map.yy, map.y0, to.shape, from.shape.height);
  SamplePlaces(from, sampling, to, [&](int64_t row) {
    return [&, x = horizontal.Start(row), y = vertical.Start(row)]() mutable {
      const FixedPlace place{x, y};
      x += horizontal.step();
      y += vertical.step();
      return place;
    };
  });
}

}  // namespace millhopper
