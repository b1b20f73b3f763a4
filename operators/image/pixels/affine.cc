// SPDX-License-Identifier: Apache-2.0
#include "operators/image/pixels/affine.h"

#include <algorithm>
#include <cmath>

namespace millhopper {
namespace {

constexpr int kFraction = 24;    // bits after the point of a place
constexpr int kWeightBits = 11;  // of a weight of bilinear
constexpr int64_t kOne = int64_t{1} << kFraction;

// In fixed point. What is larger than `most` leads out of every image anyway.
int64_t Fixed(double value, double most) {
  return std::llrint(std::clamp(value, -most, most) * static_cast<double>(kOne));
}

// One coordinate of the place that pixel (x, y) is taken from: start + x * step. With sides of at
// most 2^20 and factors of at most 2^16 no sum has more than 62 bits.
struct Coordinate {
  Coordinate(double of_x, double of_y, double offset, const ImageShape& shape, int64_t side)
      : half_x(Fixed(of_x / 2, 1 << 16)),
        half_y(Fixed(of_y / 2, 1 << 16)),
        // The middle of pixel x is (2 x + 1 - width) / 2 seen from the middle of the image.
        at_zero(Fixed(offset + static_cast<double>(side - 1) / 2, 0x1p36) +
                half_x * (1 - shape.width) + half_y * (1 - shape.height)) {}
  int64_t Start(int64_t y) const { return at_zero + 2 * half_y * y; }
  int64_t step() const { return 2 * half_x; }

  int64_t half_x, half_y, at_zero;
};

bool Within(int64_t x, int64_t y, const ImageShape& shape) {
  return x >= 0 && y >= 0 && x < shape.width && y < shape.height;
}

void TakeNearest(const PixelsOf<const uint8_t>& from, int64_t x, int64_t y, const uint8_t* fill,
                 uint8_t* to) {
  const int64_t channels = from.shape.channels;
  const int64_t column = (x + kOne / 2) >> kFraction;
  const int64_t row = (y + kOne / 2) >> kFraction;
  const uint8_t* const pixel =
      Within(column, row, from.shape) ? from.row(row) + column * channels : fill;
  for (int64_t c = 0; c < channels; ++c) to[c] = pixel[c];
}

void MixFour(const PixelsOf<const uint8_t>& from, int64_t x, int64_t y, const uint8_t* fill,
             uint8_t* to) {
  constexpr uint32_t kFull = 1u << kWeightBits;
  const int64_t channels = from.shape.channels;
  const int64_t column = x >> kFraction;
  const int64_t row = y >> kFraction;
  const uint32_t right = static_cast<uint32_t>(x >> (kFraction - kWeightBits)) & (kFull - 1);
  const uint32_t low = static_cast<uint32_t>(y >> (kFraction - kWeightBits)) & (kFull - 1);
  const auto pixel = [&](int64_t dx, int64_t dy) {
    return Within(column + dx, row + dy, from.shape) ? from.row(row + dy) + (column + dx) * channels
                                                     : fill;
  };
  const uint8_t* const corners[] = {pixel(0, 0), pixel(1, 0), pixel(0, 1), pixel(1, 1)};
  for (int64_t c = 0; c < channels; ++c) {
    const uint32_t above = corners[0][c] * (kFull - right) + corners[1][c] * right;
    const uint32_t below = corners[2][c] * (kFull - right) + corners[3][c] * right;
    to[c] = static_cast<uint8_t>(
        (above * (kFull - low) + below * low + (1u << (2 * kWeightBits - 1))) >> (2 * kWeightBits));
  }
}

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
  const ImageShape& shape = from.shape;
  const Coordinate horizontal(map.xx, map.xy, map.x0, shape, shape.width);
  const Coordinate vertical(map.yx, map.yy, map.y0, shape, shape.height);
  const auto take = sampling.bilinear ? MixFour : TakeNearest;
  for (int64_t row = 0; row < shape.height; ++row) {
    uint8_t* out = to.row(row);
    int64_t x = horizontal.Start(row);
    int64_t y = vertical.Start(row);
    for (int64_t column = 0; column < shape.width; ++column, out += shape.channels) {
      take(from, x, y, sampling.fill.data(), out);
      x += horizontal.step();
      y += vertical.step();
    }
  }
}

}  // namespace millhopper
