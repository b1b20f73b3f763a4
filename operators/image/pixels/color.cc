// SPDX-License-Identifier: Apache-2.0
#include "operators/image/pixels/color.h"

#include <algorithm>
#include <cmath>

#include "operators/image/pixels/byte_table.h"

namespace millhopper {
namespace {

// The gray that contrast and saturation blend with; LumaOf has other weights and rounds.
uint8_t TruncatedGray(const uint8_t* rgb) {
  return static_cast<uint8_t>(0.2989f * static_cast<float>(rgb[0]) +
                              0.587f * static_cast<float>(rgb[1]) +
                              0.114f * static_cast<float>(rgb[2]));
}

// The function is given a pointer to the values of each pixel.
template <typename Pixels, typename Function>
void ForEachPixel(const Pixels& image, Function function) {
  const ImageShape& shape = image.shape;
  for (int64_t y = 0; y < shape.height; ++y) {
    auto* const row = image.row(y);
    for (int64_t x = 0; x < shape.width; ++x) function(row + x * shape.channels);
  }
}

double MeanGray(const PixelsOf<uint8_t>& image) {
  uint64_t sum = 0;
  if (image.shape.channels == 1) {
    ForEachPixel(image, [&](const uint8_t* pixel) { sum += *pixel; });
  } else {
    ForEachPixel(image, [&](const uint8_t* pixel) { sum += TruncatedGray(pixel); });
  }
  const double pixels = static_cast<double>(image.shape.height * image.shape.width);
  return static_cast<double>(sum) / std::max(pixels, 1.0);
}

struct Hsv {
  float hue, saturation, value;  // each from 0 to 1
};

Hsv HsvOf(float red, float green, float blue) {
  const float highest = std::max({red, green, blue});
  const float range = highest - std::min({red, green, blue});
  if (range == 0) return {0, 0, highest};
  const float from_red = (highest - red) / range;
  const float from_green = (highest - green) / range;
  const float from_blue = (highest - blue) / range;
  const float sixths = highest == red     ? from_blue - from_green
                       : highest == green ? 2.0f + from_red - from_blue
                                          : 4.0f + from_green - from_red;
  return {std::fmod(sixths / 6.0f + 1.0f, 1.0f), range / highest, highest};
}

// From 0 to 1 into a byte: 256 steps of nearly one width.
uint8_t ByteOf(float value) {
  return static_cast<uint8_t>(std::min(std::max(value, 0.0f), 1.0f) * 255.999f);
}

void WriteRgb(const Hsv& color, uint8_t* rgb) {
  const float scaled = color.hue * 6.0f;
  const float whole = std::floor(scaled);
  const float part = scaled - whole;
  const uint8_t value = ByteOf(color.value);
  const uint8_t low = ByteOf(color.value * (1.0f - color.saturation));
  const uint8_t falling = ByteOf(color.value * (1.0f - color.saturation * part));
  const uint8_t rising = ByteOf(color.value * (1.0f - color.saturation * (1.0f - part)));
  const auto write = [rgb](uint8_t red, uint8_t green, uint8_t blue) {
    rgb[0] = red;
    rgb[1] = green;
    rgb[2] = blue;
  };
  switch (static_cast<int>(whole) % 6) {
    case 0:
      return write(value, rising, low);
    case 1:
      return write(falling, value, low);
    case 2:
      return write(low, value, rising);
    case 3:
      return write(low, falling, value);
    case 4:
      return write(rising, low, value);
    default:
      return write(value, low, falling);
  }
}

}  // namespace

void ToGray(const PixelsOf<const uint8_t>& image, const PixelsOf<uint8_t>& gray) {
  const int64_t from = image.shape.channels;
  const int64_t to = gray.shape.channels;
  for (int64_t y = 0; y < image.shape.height; ++y) {
    const uint8_t* const row = image.row(y);
    uint8_t* const out = gray.row(y);
    for (int64_t x = 0; x < image.shape.width; ++x) {
      const uint8_t* const pixel = row + x * from;
      const uint8_t luma = from == 1 ? *pixel : LumaOf(pixel[0], pixel[1], pixel[2]);
      std::fill_n(out + x * to, to, luma);
    }
  }
}

void AdjustBrightness(double factor, const PixelsOf<uint8_t>& image) {
  const Blend blend(factor);
  ApplyTable(TableOf([&](uint8_t value) { return blend(value, 0); }), image);
}

void AdjustContrast(double factor, const PixelsOf<uint8_t>& image) {
  const Blend blend(factor);
  const auto mean = static_cast<float>(MeanGray(image));
  ApplyTable(TableOf([&](uint8_t value) { return blend(value, mean); }), image);
}

void AdjustSaturation(double factor, const PixelsOf<uint8_t>& image) {
  if (image.shape.channels == 1) return;
  const Blend blend(factor);
  ForEachPixel(image, [&](uint8_t* rgb) {
    const float gray = TruncatedGray(rgb);
    for (int c = 0; c < 3; ++c) rgb[c] = blend(rgb[c], gray);
  });
}

void AdjustHue(double turn, const PixelsOf<uint8_t>& image) {
  if (image.shape.channels == 1) return;
  const auto added = static_cast<float>(turn);
  ForEachPixel(image, [&](uint8_t* rgb) {
    Hsv color = HsvOf(static_cast<float>(rgb[0]) / 255.0f, static_cast<float>(rgb[1]) / 255.0f,
                      static_cast<float>(rgb[2]) / 255.0f);
    color.hue += added;
    color.hue -= std::floor(color.hue);
    WriteRgb(color, rgb);
  });
}

}  // namespace millhopper
