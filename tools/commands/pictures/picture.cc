// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/pictures/picture.h"

#include <png.h>

#include "framework/base/error.h"

namespace millhopper {
namespace {

constexpr size_t kMostPixels = size_t{1} << 26;

}  // namespace

Picture::Picture(size_t width, size_t height, Color color) : width_(width), height_(height) {
  if (width * height > kMostPixels) {
    Throw(ErrorCode::kResourceLimit, "--png: a sheet of ", width, " x ", height,
          " pixels; fewer elements (--count) make a smaller one");
  }
  rgb_.resize(width * height * 3);
  for (size_t y = 0; y < height; ++y) {
    for (size_t x = 0; x < width; ++x) Set(x, y, color);
  }
}

void Picture::Set(size_t x, size_t y, Color color) {
  uint8_t* const pixel = &rgb_[(y * width_ + x) * 3];
  pixel[0] = color.red;
  pixel[1] = color.green;
  pixel[2] = color.blue;
}

void Picture::Tint(size_t x, size_t y, Color color) {
  const uint8_t* const pixel = &rgb_[(y * width_ + x) * 3];
  const auto mean = [](int left, int right) { return static_cast<uint8_t>((left + right) / 2); };
  Set(x, y, {mean(pixel[0], color.red), mean(pixel[1], color.green), mean(pixel[2], color.blue)});
}

std::string Picture::ToPng() const {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width_);
  image.height = static_cast<png_uint_32>(height_);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string png(size, '\0');
  if (png_image_write_to_memory(&image, png.data(), &size, 0, rgb_.data(), 0, nullptr) == 0) {
    Throw(ErrorCode::kInternal, "--png: ", image.message);
  }
  png.resize(size);
  return png;
}

}  // namespace millhopper
