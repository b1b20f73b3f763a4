// SPDX-License-Identifier: Apache-2.0
// Images turned, moved, scaled and sheared.
//
// The maps are those of torchvision (Source: _get_inverse_affine_matrix of
// torchvision/transforms/functional.py).
#ifndef MILLHOPPER_OPERATORS_IMAGE_PIXELS_AFFINE_H_
#define MILLHOPPER_OPERATORS_IMAGE_PIXELS_AFFINE_H_

#include <cstdint>

#include "operators/image/pixels/image.h"
#include "operators/image/pixels/sampling.h"

namespace millhopper {

// Where a pixel of the output is taken from: (xx * x + xy * y + x0, yx * x + yy * y + y0), both
// seen from the middles of their images.
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

// Writes every pixel of `to`, which has the channels of `from` and is not the same memory. No side
// is longer than kMaxWarpedSide.
void Warp(const PixelsOf<const uint8_t>& from, const AffineMap& map, const Sampling& sampling,
          const PixelsOf<uint8_t>& to);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_PIXELS_AFFINE_H_
