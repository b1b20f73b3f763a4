// SPDX-License-Identifier: Apache-2.0
// Images turned, moved, scaled and sheared.
//
// The maps are those of torchvision (Source: _get_inverse_affine_matrix of
// torchvision/transforms/functional.py). Places are computed in fixed point with 24 bits after the
// point, so that pixels are the same on every processor.
#ifndef MILLHOPPER_OPERATORS_IMAGE_PIXELS_AFFINE_H_
#define MILLHOPPER_OPERATORS_IMAGE_PIXELS_AFFINE_H_

#include <array>
#include <cstdint>

#include "operators/image/pixels/image.h"

namespace millhopper {

// Where a pixel of the output is taken from: (xx * x + xy * y + x0, yx * x + yy * y + y0), both
// seen from the middle of the image.
struct AffineMap {
  double xx = 1, xy = 0, x0 = 0;
  double yx = 0, yy = 1, y0 = 0;
};

// What becomes of an image, in this order: it is sheared, scaled, turned about the centre, moved.
struct Affine {
  double clockwise = 0;               // degrees
  double right = 0, down = 0;         // pixels
  double scale = 1;                   // above 0
  double shear_x = 0, shear_y = 0;    // degrees, between -90 and 90
  double centre_x = 0, centre_y = 0;  // pixels, seen from the middle of the image
};
AffineMap InverseOf(const Affine& affine);

// How the values between pixels are found, and what lies outside of an image.
struct Sampling {
  bool bilinear = false;
  std::array<uint8_t, 4> fill = {};  // for each channel
};

// The most pixels in a row and in a column of an image that Warp takes.
constexpr int64_t kMaxWarpedSide = int64_t{1} << 20;

// Writes every pixel of `to`, which has the shape of `from` and is not the same memory. Nearest
// takes the pixel whose middle is nearest, the right or lower one of two. Bilinear mixes four
// pixels by weights of 11 bits each way, rounded half up; outside of the image they are `fill`.
void Warp(const PixelsOf<const uint8_t>& from, const AffineMap& map, const Sampling& sampling,
          const PixelsOf<uint8_t>& to);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_PIXELS_AFFINE_H_
