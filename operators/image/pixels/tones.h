// SPDX-License-Identifier: Apache-2.0
// Tones of images of bytes: fewer of them, turned over, spread, or made equally frequent.
//
// The results are those of torchvision for uint8 tensors, bit for bit (Source:
// torchvision/transforms/_functional_tensor.py; AutoContrast of transforms/v2 rounds otherwise).
// They work in place, each channel by itself.
#ifndef MILLHOPPER_OPERATORS_IMAGE_PIXELS_TONES_H_
#define MILLHOPPER_OPERATORS_IMAGE_PIXELS_TONES_H_

#include <cstdint>

#include "operators/image/pixels/image.h"

namespace millhopper {

// Keeps the upper `bits` bits of each value, 0 to 8.
void Posterize(int bits, const PixelsOf<uint8_t>& image);
// Turns values into 255 - value.
void Invert(const PixelsOf<uint8_t>& image);
// Turns values of `threshold` and above into 255 - value.
void Solarize(double threshold, const PixelsOf<uint8_t>& image);
// Adds to values below 128, up to 255 (Source: solarize_add of timm/data/auto_augment.py).
void SolarizeAdd(int added, const PixelsOf<uint8_t>& image);
// Spreads the values so that the lowest becomes 0 and the highest 255: value * (255 * (1 / range)),
// each operation rounded to float32, and the fraction cut off, by which a value that would be whole
// may become one less. A channel of one value only stays.
void AutoContrast(const PixelsOf<uint8_t>& image);
// Spreads the values so that all parts of the range are about equally frequent: with n(w) pixels
// of value w and `step` 1/255 of the pixels that do not have the highest value, rounded down, value
// v becomes (the sum of n(w) for w < v, plus step / 2) / step, 255 at most. A channel whose step is
// 0 stays.
void Equalize(const PixelsOf<uint8_t>& image);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_PIXELS_TONES_H_
