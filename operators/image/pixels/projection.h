// SPDX-License-Identifier: Apache-2.0
// Images seen from another side: straight lines stay straight, parallels need not stay parallel.
// The maps are those of torchvision's perspective (Source: _perspective_grid of
// torchvision/transforms/v2/functional/_geometry.py).
#ifndef MILLHOPPER_OPERATORS_IMAGE_PIXELS_PROJECTION_H_
#define MILLHOPPER_OPERATORS_IMAGE_PIXELS_PROJECTION_H_

#include <array>
#include <cstdint>
#include <optional>

#include "operators/image/pixels/image.h"
#include "operators/image/pixels/sampling.h"

namespace millhopper {

// A place in an image, in pixels from the upper left corner, x to the right and y downwards.
struct ImagePoint {
  double x = 0, y = 0;
};

// Where places go: (x, y) to ((xx * x + xy * y + x0) / w, (yx * x + yy * y + y0) / w), where w =
// wx * x + wy * y + w0.
struct Projection {
  double xx = 1, xy = 0, x0 = 0;
  double yx = 0, yy = 1, y0 = 0;
  double wx = 0, wy = 0, w0 = 1;

  ImagePoint Of(const ImagePoint& place) const;
};

// Four places in the order upper left, upper right, lower right, lower left.
using Quadrilateral = std::array<ImagePoint, 4>;

// The projection that takes each corner of `from` to that of `to`; none if three corners of one lie
// on a line.
std::optional<Projection> ProjectionOf(const Quadrilateral& from, const Quadrilateral& to);
// What takes everything back.
Projection InverseOf(const Projection& projection);

// Takes every pixel of `to`, which has the shape of `from` and is not the same memory, from where
// `inverse` says. No side is longer than kMaxWarpedSide.
void Warp(const PixelsOf<const uint8_t>& from, const Projection& inverse, const Sampling& sampling,
          const PixelsOf<uint8_t>& to);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_PIXELS_PROJECTION_H_
