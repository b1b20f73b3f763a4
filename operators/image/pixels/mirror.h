// SPDX-License-Identifier: Apache-2.0
// Rows of pixels mirrored.
#ifndef MILLHOPPER_OPERATORS_IMAGE_PIXELS_MIRROR_H_
#define MILLHOPPER_OPERATORS_IMAGE_PIXELS_MIRROR_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace millhopper {

// MirrorRow for pixels of kChannels.
template <int64_t kChannels, typename T>
void MirrorPixels(const T* from, int64_t width, T* to) {
  for (const T* pixel = from + width * kChannels; pixel > from; to += kChannels) {
    pixel -= kChannels;
    for (int64_t c = 0; c < kChannels; ++c) to[c] = pixel[c];
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
  if (channels == 1) return MirrorPixels<1>(from, width, to);
  if (channels == 2) return MirrorPixels<2>(from, width, to);
  if (channels == 3) return MirrorPixels<3>(from, width, to);
  MirrorPixels<4>(from, width, to);
}

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_PIXELS_MIRROR_H_
