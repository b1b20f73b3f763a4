// SPDX-License-Identifier: Apache-2.0
#include "operators/image/pixels/sampling.h"

namespace millhopper {
namespace {

bool Within(int64_t x, int64_t y, const ImageShape& shape) {
  return x >= 0 && y >= 0 && x < shape.width && y < shape.height;
}

// What two values in a row become between them.
double Linear(double a, double b, double part) { return a + (b - a) * part; }

// What four values in a row become between the second and the third.
double Cubic(double a, double b, double c, double d, double part) {
  const double slope = c - a;
  const double bend = 2 * (a - b) + c - d;
  return b + part * (slope + part * (bend + part * (b - a - c + d)));
}

// Sets a pixel to what kTaps x kTaps pixels make, first along the rows: mix(values, part) is what
// the values in a row become so far behind the middle ones.
template <size_t kTaps, typename Function>
void Mix(const PixelsOf<const uint8_t>& from, FixedPlace place, const uint8_t* fill, uint8_t* to,
         Function mix) {
  constexpr int64_t kHalf = FixedPlace::kOne / 2;
  constexpr int64_t kBefore = kTaps / 2 - 1;  // taps before the pixel that a place begins in
  const int64_t channels = from.shape.channels;
  if (!Within((place.x + kHalf) >> FixedPlace::kBits, (place.y + kHalf) >> FixedPlace::kBits,
              from.shape)) {
    for (int64_t c = 0; c < channels; ++c) to[c] = fill[c];
    return;
  }
  const auto part = [](int64_t at) {
    return static_cast<double>(at & (FixedPlace::kOne - 1)) / static_cast<double>(FixedPlace::kOne);
  };
  const double right = part(place.x), low = part(place.y);
  int64_t columns[kTaps];
  const uint8_t* rows[kTaps];
  for (size_t k = 0; k < kTaps; ++k) {
    const int64_t at = static_cast<int64_t>(k) - kBefore;
    const int64_t column = (place.x >> FixedPlace::kBits) + at;
    const int64_t row = (place.y >> FixedPlace::kBits) + at;
    columns[k] = std::clamp<int64_t>(column, 0, from.shape.width - 1) * channels;
    rows[k] = from.row(std::clamp<int64_t>(row, 0, from.shape.height - 1));
  }
  for (int64_t c = 0; c < channels; ++c) {
    double mixed[kTaps];
    for (size_t k = 0; k < kTaps; ++k) {
      double values[kTaps];
      for (size_t j = 0; j < kTaps; ++j) values[j] = static_cast<double>(rows[k][columns[j] + c]);
      mixed[k] = mix(values, right);
    }
    to[c] = static_cast<uint8_t>(std::clamp(mix(mixed, low), 0.0, 255.0));
  }
}

}  // namespace

template <>
void Sample<Sampling::kNearest>(const PixelsOf<const uint8_t>& from, FixedPlace place,
                                const uint8_t* fill, uint8_t* to) {
  const int64_t channels = from.shape.channels;
  const int64_t column = (place.x + FixedPlace::kOne / 2) >> FixedPlace::kBits;
  const int64_t row = (place.y + FixedPlace::kOne / 2) >> FixedPlace::kBits;
  const uint8_t* const pixel =
      Within(column, row, from.shape) ? from.row(row) + column * channels : fill;
  for (int64_t c = 0; c < channels; ++c) to[c] = pixel[c];
}

template <>
void Sample<Sampling::kBilinear>(const PixelsOf<const uint8_t>& from, FixedPlace place,
                                 const uint8_t* fill, uint8_t* to) {
  constexpr int kWeightBits = 11;
  constexpr uint32_t kFull = 1u << kWeightBits;
  const int64_t channels = from.shape.channels;
  const int64_t column = place.x >> FixedPlace::kBits;
  const int64_t row = place.y >> FixedPlace::kBits;
  const auto weight = [](int64_t at) {
    return static_cast<uint32_t>(at >> (FixedPlace::kBits - kWeightBits)) & (kFull - 1);
  };
  const uint32_t right = weight(place.x);
  const uint32_t low = weight(place.y);
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

template <>
void Sample<Sampling::kBicubic>(const PixelsOf<const uint8_t>& from, FixedPlace place,
                                const uint8_t* fill, uint8_t* to) {
  Mix<4>(from, place, fill, to, [](const double(&values)[4], double part) {
    return Cubic(values[0], values[1], values[2], values[3], part);
  });
}

template <>
void Sample<Sampling::kClampedBilinear>(const PixelsOf<const uint8_t>& from, FixedPlace place,
                                        const uint8_t* fill, uint8_t* to) {
  Mix<2>(from, place, fill, to,
         [](const double(&values)[2], double part) { return Linear(values[0], values[1], part); });
}

}  // namespace millhopper
