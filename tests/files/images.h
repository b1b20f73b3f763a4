// SPDX-License-Identifier: Apache-2.0
// Images for tests.
#ifndef MILLHOPPER_TESTS_FILES_IMAGES_H_
#define MILLHOPPER_TESTS_FILES_IMAGES_H_

#include <cstdint>
#include <vector>

#include "framework/base/random.h"
#include "framework/tensor/tensor.h"
#include "tests/testing.h"

namespace millhopper {

// `count` random bytes; the same for the same seed.
inline std::vector<uint8_t> RandomBytes(int64_t count, uint64_t seed = 0) {
  const RandomKey key(0, 0, "bytes");
  std::vector<uint8_t> bytes;
  for (int64_t i = 0; i < count; ++i) {
    bytes.push_back(static_cast<uint8_t>(key.Bits(seed, static_cast<uint64_t>(i))));
  }
  return bytes;
}

// Images of random pixels, uint8 or float32.
inline LoDTensor RandomImages(const Dims& dims, uint64_t seed = 0) {
  return MakeTensor<uint8_t>(dims, RandomBytes(Product(dims), seed));
}

inline LoDTensor AsFloats(const LoDTensor& bytes) {
  const std::vector<uint8_t> values = ValuesOf<uint8_t>(bytes);
  return MakeTensor<float>(bytes.dims(), {values.begin(), values.end()});
}

// Image [1, height, width, 1] whose pixel at row y, column x is 10 * y + x.
inline LoDTensor NumberedImage(int64_t height, int64_t width) {
  std::vector<uint8_t> pixels;
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) pixels.push_back(static_cast<uint8_t>(10 * y + x));
  }
  return MakeTensor<uint8_t>({1, height, width, 1}, pixels);
}

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FILES_IMAGES_H_
