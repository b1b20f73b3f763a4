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

// The most channels of an image.
constexpr size_t kMostChannels = 4;

// Channel c of the image becomes what channel order[c] was. Only the channels that it has count.
template <typename T>
void PermuteChannels(const std::array<size_t, kMostChannels>& order, const PixelsOf<T>& image) {
  const auto channels = static_cast<size_t>(image.shape.channels);
  for (int64_t y = 0; y < image.shape.height; ++y) {
    T* pixel = image.row(y);
    for (int64_t x = 0; x < image.shape.width; ++x, pixel += channels) {
      T before[kMostChannels];
      for (size_t c = 0; c < channels; ++c) before[c] = pixel[c];
      for (size_t c = 0; c < channels; ++c) pixel[c] = before[order[c]];
    }
  }
}

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_PIXELS_CHANNELS_H_
