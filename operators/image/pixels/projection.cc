// SPDX-License-Identifier: Apache-2.0
#include "operators/image/pixels/projection.h"

#include <algorithm>
#include <cmath>

namespace millhopper {
namespace {

// The product of two projections: first `a`, then `b`.
Projection Joined(const Projection& a, const Projection& b) {
  Projection p;
  p.xx = b.xx * a.xx + b.xy * a.yx + b.x0 * a.wx;
  p.xy = b.xx * a.xy + b.xy * a.yy + b.x0 * a.wy;
  p.x0 = b.xx * a.x0 + b.xy * a.y0 + b.x0 * a.w0;
  p.yx = b.yx * a.xx + b.yy * a.yx + b.y0 * a.wx;
  p.yy = b.yx * a.xy + b.yy * a.yy + b.y0 * a.wy;
  p.y0 = b.yx * a.x0 + b.yy * a.y0 + b.y0 * a.w0;
  p.wx = b.wx * a.xx + b.wy * a.yx + b.w0 * a.wx;
  p.wy = b.wx * a.xy + b.wy * a.yy + b.w0 * a.wy;
  p.w0 = b.wx * a.x0 + b.wy * a.y0 + b.w0 * a.w0;
  return p;
}

// Twice the area of a triangle, negative if it is turned over.
double AreaOf(const ImagePoint& a, const ImagePoint& b, const ImagePoint& c) {
  return (b.x - a.x) * (c.y - a.y) - (c.x - a.x) * (b.y - a.y);
}

// The projection that takes the corners of the square from (0, 0) to (1, 1) to those of `to`
// (Source: Heckbert, "Fundamentals of Texture Mapping and Image Warping", 1989, section 2.2.3).
std::optional<Projection> FromSquare(const Quadrilateral& to) {
  for (size_t i = 0; i < 4; ++i) {
    if (AreaOf(to[i], to[(i + 1) % 4], to[(i + 2) % 4]) == 0) return std::nullopt;
  }
  const double across_x = to[1].x - to[2].x, across_y = to[1].y - to[2].y;
  const double down_x = to[3].x - to[2].x, down_y = to[3].y - to[2].y;
  const double bend_x = to[0].x - to[1].x + to[2].x - to[3].x;
  const double bend_y = to[0].y - to[1].y + to[2].y - to[3].y;
  const double determinant = across_x * down_y - down_x * across_y;
  Projection p;
  p.wx = (bend_x * down_y - down_x * bend_y) / determinant;
  p.wy = (across_x * bend_y - bend_x * across_y) / determinant;
  p.xx = to[1].x - to[0].x + p.wx * to[1].x;
  p.xy = to[3].x - to[0].x + p.wy * to[3].x;
  p.x0 = to[0].x;
  p.yx = to[1].y - to[0].y + p.wx * to[1].y;
  p.yy = to[3].y - to[0].y + p.wy * to[3].y;
  p.y0 = to[0].y;
  return p;
}

}  // namespace

ImagePoint Projection::Of(const ImagePoint& place) const {
  const double w = wx * place.x + wy * place.y + w0;
  return {(xx * place.x + xy * place.y + x0) / w, (yx * place.x + yy * place.y + y0) / w};
}

std::optional<Projection> ProjectionOf(const Quadrilateral& from, const Quadrilateral& to) {
  const std::optional<Projection> first = FromSquare(from), second = FromSquare(to);
  if (!first || !second) return std::nullopt;
  return Joined(InverseOf(*first), *second);
}

Projection InverseOf(const Projection& p) {
  Projection inverse;
  inverse.xx = p.yy * p.w0 - p.y0 * p.wy;
  inverse.xy = p.x0 * p.wy - p.xy * p.w0;
  inverse.x0 = p.xy * p.y0 - p.x0 * p.yy;
  inverse.yx = p.y0 * p.wx - p.yx * p.w0;
  inverse.yy = p.xx * p.w0 - p.x0 * p.wx;
  inverse.y0 = p.x0 * p.yx - p.xx * p.y0;
  inverse.wx = p.yx * p.wy - p.yy * p.wx;
  inverse.wy = p.xy * p.wx - p.xx * p.wy;
  inverse.w0 = p.xx * p.yy - p.xy * p.yx;
  return inverse;
}

void Warp(const PixelsOf<const uint8_t>& from, const Projection& inverse, const Sampling& sampling,
          const PixelsOf<uint8_t>& to) {
  SamplePlaces(from, sampling, to, [&](int64_t row) {
    return [&, at = ImagePoint{0.5, static_cast<double>(row) + 0.5}]() mutable {
      const ImagePoint place = inverse.Of(at);
      at.x += 1;
      return FixedPlace{FixedPlace::Of(place.x - 0.5), FixedPlace::Of(place.y - 0.5)};
    };
  });
}

}  // namespace millhopper
