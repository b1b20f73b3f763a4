// SPDX-License-Identifier: Apache-2.0
// Images of bytes made softer or sharper: a pixel and its neighbours are mixed.
#ifndef MILLHOPPER_OPERATORS_IMAGE_PIXELS_BLUR_H_
#define MILLHOPPER_OPERATORS_IMAGE_PIXELS_BLUR_H_

#include <cstdint>
#include <vector>

#include "operators/image/pixels/image.h"

namespace millhopper {

// The most weights of a kernel: their rounding moves a value by half a level at most.
constexpr int64_t kMostWeights = 255;

// Sets the weights exp(-(k / sigma)^2 / 2) of the `size` places k around a pixel, as parts of 2^16;
// their sum is 2^16. `size` is odd and at most kMostWeights, sigma is above 0. (Source:
// _get_gaussian_kernel1d of torchvision/transforms/_functional_tensor.py.)
void SetGaussian(int64_t size, double sigma, std::vector<uint32_t>* weights);

// Mixes the pixels of each row by the weights `across`, then those of each column by `down`; the
// first sums keep 8 bits after the point, the second are rounded half up. Beyond an edge lies the
// image's reflection, without the edge itself, so that both sides must be larger than half their
// weights. Works for one image after another in the same memory.
class Blur {
 public:
  // `to` has the shape of `from` and is not the same memory.
  void Run(const PixelsOf<const uint8_t>& from, const PixelsOf<uint8_t>& to);

  // Both odd in number, with a sum of 2^16.
  std::vector<uint32_t> across, down;

 private:
  std::vector<uint8_t> padded_;  // a row with its reflections
  std::vector<uint16_t> mixed_;  // all rows, each mixed
  std::vector<uint32_t> sums_;   // one row of sums
};

// Blends `from` with its soft version, in which an inner pixel is the mean of the nine around it,
// itself counted five times: 0 gives that version, 1 the image, 2 one that is twice as sharp. An
// image with two pixels or less either way is copied, and pixels at the edges stay. `to` has the
// shape of `from` and is not the same memory. (Source: adjust_sharpness of the same file; blends
// are those of color.h.)
void AdjustSharpness(double factor, const PixelsOf<const uint8_t>& from,
                     const PixelsOf<uint8_t>& to);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_PIXELS_BLUR_H_
