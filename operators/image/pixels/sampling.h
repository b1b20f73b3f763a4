// SPDX-License-Identifier: Apache-2.0
// Images made of pixels that are taken from any places of other ones. Places are in fixed point
// with 24 bits after the point, so that pixels are the same on every processor.
#ifndef MILLHOPPER_OPERATORS_IMAGE_PIXELS_SAMPLING_H_
#define MILLHOPPER_OPERATORS_IMAGE_PIXELS_SAMPLING_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "operators/image/pixels/image.h"

namespace millhopper {

// How the values between pixels are found, and what lies outside of an image. Nearest takes the
// pixel whose middle is nearest, the right or lower one of two. Bilinear mixes four pixels by
// weights of 11 bits each way, rounded half up; outside of the image they are `fill`. The other two
// are Pillow's for Image.transform, in double, the fraction cut off, with the pixels at the border
// for the ones beyond it; places outside of the image are `fill`: bicubic has cubic weights with a
// = -1 of 4 x 4 pixels, clamped bilinear mixes four.
struct Sampling {
  enum Filter { kNearest, kBilinear, kBicubic, kClampedBilinear };

  Filter filter = kNearest;
  std::array<uint8_t, 4> fill = {};  // for each channel
};

// The most pixels in a row and in a column of an image that is sampled.
constexpr int64_t kMaxWarpedSide = int64_t{1} << 20;

// A place in an image, from the middle of its first pixel, in units of 2^-24 pixels.
struct FixedPlace {
  static constexpr int kBits = 24;
  static constexpr int64_t kOne = int64_t{1} << kBits;

  // What is no number or farther away than 2^36 pixels leads out of every image.
  static int64_t Of(double pixels) {
    constexpr double kFarthest = 0x1p36;
    const bool is_near = pixels > -kFarthest && pixels < kFarthest;
    return std::llrint((is_near ? pixels : kFarthest) * static_cast<double>(kOne));
  }

  int64_t x, y;
};

// Sets a pixel to what `from` has at a place.
template <Sampling::Filter kFilter>
void Sample(const PixelsOf<const uint8_t>& from, FixedPlace place, const uint8_t* fill,
            uint8_t* to);

// Writes every pixel of `to`, which is not the memory of `from` and has its channels: row_of(y)
// returns a function that is called for each pixel of row y, from left to right, and returns the
// place that it is taken from.
template <typename RowOf>
void SamplePlaces(const PixelsOf<const uint8_t>& from, const Sampling& sampling,
                  const PixelsOf<uint8_t>& to, RowOf row_of) {
  const auto run = [&](auto sample) {
    for (int64_t y = 0; y < to.shape.height; ++y) {
      uint8_t* out = to.row(y);
      auto next = row_of(y);
      for (int64_t x = 0; x < to.shape.width; ++x, out += to.shape.channels) {
        sample(from, next(), sampling.fill.data(), out);
      }
    }
  };
  if (sampling.filter == Sampling::kNearest) return run(Sample<Sampling::kNearest>);
  if (sampling.filter == Sampling::kBilinear) return run(Sample<Sampling::kBilinear>);
  if (sampling.filter == Sampling::kBicubic) return run(Sample<Sampling::kBicubic>);
  run(Sample<Sampling::kClampedBilinear>);
}

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_PIXELS_SAMPLING_H_
