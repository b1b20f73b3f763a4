// SPDX-License-Identifier: Apache-2.0
#include "operators/image/pixels/tones.h"

#include <algorithm>
#include <array>

#include "operators/image/pixels/byte_table.h"

namespace millhopper {
namespace {

using Histogram = std::array<int64_t, 256>;  // pixels of each value

Histogram HistogramOf(const PixelsOf<uint8_t>& image, int64_t channel) {
  Histogram pixels{};
  const ImageShape& shape = image.shape;
  for (int64_t y = 0; y < shape.height; ++y) {
    const uint8_t* const row = image.row(y) + channel;
    for (int64_t x = 0; x < shape.width; ++x) ++pixels[row[x * shape.channels]];
  }
  return pixels;
}

// The highest value that a pixel has; 0 if there are no pixels.
size_t HighestOf(const Histogram& pixels) {
  size_t highest = 255;
  while (highest > 0 && pixels[highest] == 0) --highest;
  return highest;
}

ByteTable Spread(const Histogram& pixels) {
  const size_t highest = HighestOf(pixels);
  size_t lowest = 0;
  while (lowest < highest && pixels[lowest] == 0) ++lowest;
  if (lowest == highest) {
    return TableOf([](uint8_t value) { return value; });
  }
  const auto from = static_cast<float>(lowest);
  // The reciprocal is rounded before it is multiplied, as torchvision's are.
  const float scale = 255.0f * (1.0f / (static_cast<float>(highest) - from));
  return TableOf([&](uint8_t value) {
    return static_cast<uint8_t>(std::clamp((static_cast<float>(value) - from) * scale, 0.f, 255.f));
  });
}

ByteTable Equalized(const Histogram& pixels) {
  int64_t counted = 0;
  for (size_t value = 0; value < HighestOf(pixels); ++value) counted += pixels[value];
  const int64_t step = counted / 255;
  if (step == 0) {
    return TableOf([](uint8_t value) { return value; });
  }
  int64_t below = 0;
  return TableOf([&](uint8_t value) {
    const int64_t spread = (below + step / 2) / step;
    below += pixels[value];
    return static_cast<uint8_t>(std::min<int64_t>(spread, 255));
  });
}

}  // namespace

void Posterize(int bits, const PixelsOf<uint8_t>& image) {
  const int kept = 0xff00 >> bits;
  ApplyTable(TableOf([&](uint8_t value) { return static_cast<uint8_t>(value & kept); }), image);
}

void Solarize(double threshold, const PixelsOf<uint8_t>& image) {
  ApplyTable(TableOf([&](uint8_t value) {
               return value >= threshold ? static_cast<uint8_t>(255 - value) : value;
             }),
             image);
}

void SolarizeAdd(int added, const PixelsOf<uint8_t>& image) {
  ApplyTable(TableOf([&](uint8_t value) {
               return value < 128 ? static_cast<uint8_t>(std::min(value + added, 255)) : value;
             }),
             image);
}

void AutoContrast(const PixelsOf<uint8_t>& image) {
  for (int64_t c = 0; c < image.shape.channels; ++c) {
    ApplyTable(Spread(HistogramOf(image, c)), c, image);
  }
}

void Equalize(const PixelsOf<uint8_t>& image) {
  for (int64_t c = 0; c < image.shape.channels; ++c) {
    ApplyTable(Equalized(HistogramOf(image, c)), c, image);
  }
}

}  // namespace millhopper
