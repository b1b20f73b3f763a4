// SPDX-License-Identifier: Apache-2.0
// Pixels whose colours are weighed by their alpha, as they are while an image is resized, so that
// colours of transparent pixels do not show. The values are those of Pillow's modes RGBa and La
// (src/libImaging/Convert.c).
#ifndef MILLHOPPER_OPERATORS_IMAGE_PIXELS_ALPHA_H_
#define MILLHOPPER_OPERATORS_IMAGE_PIXELS_ALPHA_H_

#include <cstdint>

#include "operators/image/pixels/image.h"

namespace millhopper {

// Whether the last of so many channels is alpha.
constexpr bool HasAlpha(int64_t channels) { return channels == 2 || channels == 4; }

// Writes pixels with alpha whose other channels are multiplied by it: value * alpha / 255, rounded.
// Both have one shape and do not overlap.
void MultiplyByAlpha(const PixelsOf<const uint8_t>& from, const PixelsOf<uint8_t>& to);

// Divides a row of such pixels by alpha again: 255 * value / alpha, rounded down, and 255 at most;
// values stay where alpha is 0. The rows may be the same.
void DivideByAlpha(const uint8_t* from, int64_t channels, int64_t width, uint8_t* to);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_PIXELS_ALPHA_H_
