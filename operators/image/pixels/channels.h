// SPDX-License-Identifier: Apache-2.0
// Pixels with other channels: gray from colours, colours from gray, with and without alpha.
#ifndef MILLHOPPER_OPERATORS_IMAGE_PIXELS_CHANNELS_H_
#define MILLHOPPER_OPERATORS_IMAGE_PIXELS_CHANNELS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "operators/image/pixels/image.h"

namespace millhopper {

// Converts a row of pixels to another number of channels, 1 to 4. Gray is (19595 r + 38470 g + 7471
// b + 32768) / 65536, as Pillow's mode L (ITU-R BT.601); new alpha is 255. The rows must not
// overlap.
void ConvertChannels(const uint8_t* from, int64_t from_channels, int64_t width, uint8_t* to,
                     int64_t to_channels);

// PermuteChannels for images of kChannels.
template <size_t kChannels, typename T>
void PermutePixels(const std::array<size_t, kMostChannels>& order, const PixelsOf<const T>& from,
                   const PixelsOf<T>& to) {
  for (int64_t y = 0; y < from.shape.height; ++y) {
    const T* pixel = from.row(y);
    T* out = to.row(y);
    for (int64_t x = 0; x < from.shape.width; ++x, pixel += kChannels, out += kChannels) {
      T before[kChannels];
      for (size_t c = 0; c < kChannels; ++c) before[c] = pixel[c];
      for (size_t c = 0; c < kChannels; ++c) out[c] = before[order[c]];
    }
  }
}

// Channel c of `to` becomes channel order[c] of `from`, an image of the same shape, which may be
// the same one. Only the channels that it has count.
template <typename T>
void PermuteChannels(const std::array<size_t, kMostChannels>& order, const PixelsOf<const T>& from,
                     const PixelsOf<T>& to) {
  WithChannels(from.shape.channels,
               [&](auto channels) { PermutePixels<decltype(channels)::value>(order, from, to); });
}

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_PIXELS_CHANNELS_H_
