// SPDX-License-Identifier: Apache-2.0
// Brightness, contrast, saturation, hue and gray of images of bytes with 1 or 3 channels.
//
// The four adjustments are those of torchvision for tensors (Source:
// torchvision/transforms/_functional_tensor.py, and not those of transforms/v2, which round some
// values otherwise), in float32, every operation rounded: a blend is factor * a + (1 - factor) * b,
// held between 0 and 255, and its fraction is cut off. They work in place.
#ifndef MILLHOPPER_OPERATORS_IMAGE_PIXELS_COLOR_H_
#define MILLHOPPER_OPERATORS_IMAGE_PIXELS_COLOR_H_

#include <algorithm>
#include <cstdint>

#include "operators/image/pixels/image.h"

namespace millhopper {

// Pillow's mode L: the luma of ITU-R 601-2 in fixed point with 16 bits, rounded.
inline uint8_t LumaOf(uint8_t red, uint8_t green, uint8_t blue) {
  return static_cast<uint8_t>((red * 19595u + green * 38470u + blue * 7471u + 0x8000u) >> 16);
}

// Writes the luma of each pixel to every channel of `gray`, which has 1 or 3 channels and the size
// of `image`, and may be the image itself if both have the same channels.
void ToGray(const PixelsOf<const uint8_t>& image, const PixelsOf<uint8_t>& gray);

// factor * a + (1 - factor) * b. A factor of more than 10^36 counts as that, which gives 0 or 255
// wherever a and b differ: the products of larger ones may be beyond float32, and their sum no
// number.
class Blend {
 public:
  explicit Blend(double factor)
      : of_a_(static_cast<float>(std::min(factor, kMostFactor))),
        of_b_(static_cast<float>(1.0 - std::min(factor, kMostFactor))) {}
  uint8_t operator()(float a, float b) const {
    const float mixed = of_a_ * a + of_b_ * b;
    return static_cast<uint8_t>(std::min(std::max(mixed, 0.0f), 255.0f));
  }

 private:
  static constexpr double kMostFactor = 1e36;

  float of_a_, of_b_;
};

// Blends with black.
void AdjustBrightness(double factor, const PixelsOf<uint8_t>& image);
// Blends with the mean of the image's gray, which is 0.2989 R + 0.587 G + 0.114 B without its
// fraction. The sum of the grays is exact, the mean is rounded to float32.
void AdjustContrast(double factor, const PixelsOf<uint8_t>& image);
// Blends each pixel with its gray.
void AdjustSaturation(double factor, const PixelsOf<uint8_t>& image);
// Turns the hue by `turn`, a part of the whole circle from -0.5 to 0.5, by way of HSV.
void AdjustHue(double turn, const PixelsOf<uint8_t>& image);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_PIXELS_COLOR_H_
