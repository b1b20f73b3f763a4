// SPDX-License-Identifier: Apache-2.0
// Rows of pixels mirrored.
#ifndef MILLHOPPER_OPERATORS_IMAGE_PIXELS_MIRROR_H_
#define MILLHOPPER_OPERATORS_IMAGE_PIXELS_MIRROR_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "operators/image/pixels/image.h"

namespace millhopper {

// MirrorRow for pixels of kChannels.
template <size_t kChannels, typename T>
void MirrorPixels(const T* from, int64_t width, T* to) {
  for (const T* pixel = from + width * int64_t{kChannels}; pixel > from; to += kChannels) {
    pixel -= kChannels;
    for (size_t c = 0; c < kChannels; ++c) to[c] = pixel[c];
  }
}

// The same for colours of bytes, of which there is one at least, four bytes at a time: one that is
// too many is overwritten by the next pixel. Of the first and the last pixel only their own are
// read and written.
inline void MirrorColors(const uint8_t* from, int64_t width, uint8_t* to) {
  const uint8_t* pixel = from + 3 * (width - 1);
  std::copy_n(pixel, 3, to);
  for (int64_t x = 1; x < width - 1; ++x) {
    pixel -= 3, to += 3;
    uint32_t bytes;
    std::memcpy(&bytes, pixel, sizeof(bytes));
    std::memcpy(to, &bytes, sizeof(bytes));
  }
  if (width > 1) std::copy_n(from, 3, to + 3);
}

// Writes a row of pixels from right to left. The rows must not overlap.
template <typename T>
void MirrorRow(const T* from, int64_t width, int64_t channels, T* to) {
  if constexpr (sizeof(T) == 1) {
    if (channels == 3 && width > 0) return MirrorColors(from, width, to);
  }
  WithChannels(channels, [&](auto n) { MirrorPixels<decltype(n)::value>(from, width, to); });
}

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_PIXELS_MIRROR_H_
