// SPDX-License-Identifier: Apache-2.0
// Pixels in memory: rows from top to bottom, pixels from left to right, the channels of a pixel
// side by side (HWC).
#ifndef MILLHOPPER_OPERATORS_IMAGE_PIXELS_IMAGE_H_
#define MILLHOPPER_OPERATORS_IMAGE_PIXELS_IMAGE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace millhopper {

// The size of an image, and its channels: 1 is gray, 2 gray and alpha, 3 red, green and blue, 4
// these and alpha.
struct ImageShape {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;

  int64_t values() const { return height * width * channels; }
  bool operator==(const ImageShape& other) const {
    return height == other.height && width == other.width && channels == other.channels;
  }
  bool operator!=(const ImageShape& other) const { return !(*this == other); }
};

// The most channels of an image.
constexpr size_t kMostChannels = 4;

// Calls function(n), where n is the number of channels as a std::integral_constant.
template <typename Function>
void WithChannels(int64_t channels, const Function& function) {
  if (channels == 1) return function(std::integral_constant<size_t, 1>());
  if (channels == 2) return function(std::integral_constant<size_t, 2>());
  if (channels == 3) return function(std::integral_constant<size_t, 3>());
  function(std::integral_constant<size_t, 4>());
}

// A rectangle of pixels: x to the right, y downwards.
struct Box {
  int64_t x = 0;
  int64_t y = 0;
  int64_t width = 0;
  int64_t height = 0;

  bool operator==(const Box& other) const {
    return x == other.x && y == other.y && width == other.width && height == other.height;
  }
};

// Pixels that this does not own; T is const if they are only read.
template <typename T>
struct PixelsOf {
  T* values = nullptr;  // of the pixel at the top left
  ImageShape shape;
  int64_t row_stride = 0;  // values from one row to the next

  T* row(int64_t y) const { return values + y * row_stride; }
  // The pixels within a box, which must lie inside the image.
  PixelsOf Crop(const Box& box) const {
    return {values + box.y * row_stride + box.x * shape.channels,
            {box.height, box.width, shape.channels},
            row_stride};
  }
};

// Pixels whose rows lie end to end.
template <typename T>
PixelsOf<T> Contiguous(T* values, const ImageShape& shape) {
  return {values, shape, shape.width * shape.channels};
}

// The most pixels of an image that is made of another one; decode_image has its own limit.
constexpr int64_t kMostPixels = int64_t{1} << 28;
// Throws kResourceLimit for an image of more.
void CheckPixels(int64_t height, int64_t width);

// Copies pixels between images of the same shape, which do not overlap.
template <typename T>
void CopyPixels(const PixelsOf<const T>& from, const PixelsOf<T>& to) {
  for (int64_t y = 0; y < from.shape.height; ++y) {
    std::copy_n(from.row(y), from.shape.width * from.shape.channels, to.row(y));
  }
}

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_PIXELS_IMAGE_H_
