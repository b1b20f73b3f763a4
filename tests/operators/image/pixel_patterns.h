// SPDX-License-Identifier: Apache-2.0
// For tests of the arithmetic of pixels: images that other programs can make too, and a number that
// tells whether they have made the same of them.
#ifndef MILLHOPPER_TESTS_OPERATORS_IMAGE_PIXEL_PATTERNS_H_
#define MILLHOPPER_TESTS_OPERATORS_IMAGE_PIXEL_PATTERNS_H_

#include <cstdint>
#include <vector>

#include "operators/image/pixels/image.h"

namespace millhopper {

// An image in its own memory.
struct OwnPixels {
  explicit OwnPixels(const ImageShape& of) : shape(of), values(static_cast<size_t>(of.values())) {}

  PixelsOf<uint8_t> pixels() { return Contiguous(values.data(), shape); }
  PixelsOf<const uint8_t> seen() const { return Contiguous(values.data(), shape); }
  int64_t at(int64_t y, int64_t x, int64_t c) const {
    return values[static_cast<size_t>((y * shape.width + x) * shape.channels + c)];
  }

  ImageShape shape;
  std::vector<uint8_t> values;
};

// Value k is 20 + (k * k / 5 + 3 * k) % 199: from 20 to 218, some of them often. With numpy:
//   k = np.arange(h * w * c); (20 + (k * k // 5 + 3 * k) % 199).astype("uint8").reshape(h, w, c)
inline OwnPixels PatternOf(const ImageShape& shape) {
  OwnPixels image(shape);
  for (size_t k = 0; k < image.values.size(); ++k) {
    image.values[k] = static_cast<uint8_t>(20 + (k * k / 5 + 3 * k) % 199);
  }
  return image;
}

// The sum of (k % 1009 + 1) * value k: of an array `a` of numpy,
//   int((a.ravel().astype(int) * (np.arange(a.size) % 1009 + 1)).sum())
inline int64_t WeightedSum(const std::vector<uint8_t>& values) {
  int64_t sum = 0;
  for (size_t k = 0; k < values.size(); ++k) {
    sum += static_cast<int64_t>((k % 1009 + 1) * values[k]);
  }
  return sum;
}

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_OPERATORS_IMAGE_PIXEL_PATTERNS_H_
