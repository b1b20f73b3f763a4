// SPDX-License-Identifier: Apache-2.0
// Images made of pixels that are taken from any places of other ones. Places are in fixed point
// with 24 bits after the point, so that pixels are the same on every processor.
#ifndef MILLHOPPER_OPERATORS_IMAGE_PIXELS_SAMPLING_H_
#define MILLHOPPER_OPERATORS_IMAGE_PIXELS_SAMPLING_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

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

// How a pixel of kChannels, or if that is 0 of any number, is made of those around a place.
template <int64_t kChannels>
class Sampler {
 public:
  Sampler(const PixelsOf<const uint8_t>& from, const uint8_t* fill) : from_(from), fill_(fill) {}

  // Sets a pixel to what there is at a place.
  template <Sampling::Filter kFilter>
  void Take(FixedPlace place, uint8_t* to) const {
    if constexpr (kFilter == Sampling::kNearest) {
      const uint8_t* const pixel = PixelAt((place.x + FixedPlace::kOne / 2) >> FixedPlace::kBits,
                                           (place.y + FixedPlace::kOne / 2) >> FixedPlace::kBits);
      for (int64_t c = 0; c < channels(); ++c) to[c] = pixel[c];
    } else if constexpr (kFilter == Sampling::kBilinear) {
      MixFour(place, to);
    } else {
      Mix(place, to, std::make_index_sequence < kFilter == Sampling::kBicubic ? 4 : 2 > ());
    }
  }

 private:
  int64_t channels() const { return kChannels > 0 ? kChannels : from_.shape.channels; }
  bool IsWithin(int64_t x, int64_t y) const {
    return x >= 0 && y >= 0 && x < from_.shape.width && y < from_.shape.height;
  }
  const uint8_t* PixelAt(int64_t x, int64_t y) const {
    return IsWithin(x, y) ? from_.row(y) + x * channels() : fill_;
  }

  void MixFour(FixedPlace place, uint8_t* to) const {
    constexpr int kWeightBits = 11;
    constexpr uint32_t kFull = 1u << kWeightBits;
    const int64_t column = place.x >> FixedPlace::kBits, row = place.y >> FixedPlace::kBits;
    const auto weight = [](int64_t at) {
      return static_cast<uint32_t>(at >> (FixedPlace::kBits - kWeightBits)) & (kFull - 1);
    };
    const uint32_t right = weight(place.x), low = weight(place.y);
    const uint8_t* const corners[] = {PixelAt(column, row), PixelAt(column + 1, row),
                                      PixelAt(column, row + 1), PixelAt(column + 1, row + 1)};
    for (int64_t c = 0; c < channels(); ++c) {
      const uint32_t above = corners[0][c] * (kFull - right) + corners[1][c] * right;
      const uint32_t below = corners[2][c] * (kFull - right) + corners[3][c] * right;
      to[c] = static_cast<uint8_t>(
          (above * (kFull - low) + below * low + (1u << (2 * kWeightBits - 1))) >>
          (2 * kWeightBits));
    }
  }

  // What two values in a row become between them.
  static double Between(const std::array<double, 2>& values, double part) {
    return values[0] + (values[1] - values[0]) * part;
  }
  // What four values in a row become between the second and the third. Sums and differences of
  // integers are the same as those of doubles, and cost less.
  template <typename T>
  static double Between(const std::array<T, 4>& values, double part) {
    const auto& [a, b, c, d] = values;
    const auto slope = static_cast<double>(c - a);
    const auto bend = static_cast<double>(2 * (a - b) + c - d);
    const auto rest = static_cast<double>(b - a - c + d);
    return static_cast<double>(b) + part * (slope + part * (bend + part * rest));
  }

  // Of kTaps x kTaps pixels, first along the rows. What is done for each tap is written out, since
  // compilers leave such loops and the memory that they go through as they are.
  template <size_t... kTap>
  void Mix(FixedPlace place, uint8_t* to, std::index_sequence<kTap...>) const {
    using Value = std::conditional_t<(sizeof...(kTap) > 2), int32_t, double>;
    constexpr int64_t kHalf = FixedPlace::kOne / 2;
    constexpr int64_t kBefore = sizeof...(kTap) / 2 - 1;  // taps before the pixel of a place
    if (!IsWithin((place.x + kHalf) >> FixedPlace::kBits, (place.y + kHalf) >> FixedPlace::kBits)) {
      for (int64_t c = 0; c < channels(); ++c) to[c] = fill_[c];
      return;
    }
    const auto part = [](int64_t at) {
      return static_cast<double>(at & (FixedPlace::kOne - 1)) /
             static_cast<double>(FixedPlace::kOne);
    };
    const double right = part(place.x), low = part(place.y);
    const int64_t first_column = (place.x >> FixedPlace::kBits) - kBefore;
    const int64_t first_row = (place.y >> FixedPlace::kBits) - kBefore;
    const auto within = [](int64_t at, int64_t side) {
      return std::clamp<int64_t>(at, 0, side - 1);
    };
    const std::array columns = {within(first_column + int64_t{kTap}, from_.shape.width) *
                                channels()...};
    const std::array rows = {from_.row(within(first_row + int64_t{kTap}, from_.shape.height))...};
    for (int64_t c = 0; c < channels(); ++c) {
      const auto along = [&](const uint8_t* row) {
        return Between(std::array{static_cast<Value>(row[columns[kTap] + c])...}, right);
      };
      const double mixed = Between(std::array{along(rows[kTap])...}, low);
      to[c] = static_cast<uint8_t>(std::clamp(mixed, 0.0, 255.0));
    }
  }

  const PixelsOf<const uint8_t>& from_;
  const uint8_t* const fill_;
};

// Writes every pixel of `to`, which is not the memory of `from` and has its channels: row_of(y)
// returns a function that is called for each pixel of row y, from left to right, and returns the
// place that it is taken from.
template <typename RowOf>
void SamplePlaces(const PixelsOf<const uint8_t>& from, const Sampling& sampling,
                  const PixelsOf<uint8_t>& to, RowOf row_of) {
  const auto run = [&](auto filter, auto channels) {
    const Sampler<decltype(channels)::value> sampler(from, sampling.fill.data());
    for (int64_t y = 0; y < to.shape.height; ++y) {
      uint8_t* out = to.row(y);
      auto next = row_of(y);
      for (int64_t x = 0; x < to.shape.width; ++x, out += to.shape.channels) {
        sampler.template Take<decltype(filter)::value>(next(), out);
      }
    }
  };
  const auto run_with = [&](auto filter) {
    if (to.shape.channels == 3) return run(filter, std::integral_constant<int64_t, 3>());
    run(filter, std::integral_constant<int64_t, 0>());
  };
  using Filter = Sampling::Filter;
  switch (sampling.filter) {
    case Filter::kNearest:
      return run_with(std::integral_constant<Filter, Filter::kNearest>());
    case Filter::kBilinear:
      return run_with(std::integral_constant<Filter, Filter::kBilinear>());
    case Filter::kBicubic:
      return run_with(std::integral_constant<Filter, Filter::kBicubic>());
    case Filter::kClampedBilinear:
      return run_with(std::integral_constant<Filter, Filter::kClampedBilinear>());
  }
}

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_PIXELS_SAMPLING_H_
