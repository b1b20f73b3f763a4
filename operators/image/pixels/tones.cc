// SPDX-License-Identifier: Apache-2.0
#include "operators/image/pixels/tones.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <utility>

#include "operators/image/pixels/byte_table.h"

namespace millhopper {
namespace {

using Histogram = std::array<int64_t, 256>;  // pixels of each value

// Replaces the values of each channel by the table that `table_of` makes of its histogram. Pixels
// are gone through twice, whatever the number of channels; what is done for each of these is
// written out, which compilers leave as a loop otherwise.
template <typename TableOfHistogram, size_t... kChannel>
void ChangeChannels(const PixelsOf<uint8_t>& image, TableOfHistogram table_of,
                    std::index_sequence<kChannel...>) {
  constexpr size_t kChannels = sizeof...(kChannel);
  // Pixels in turn are counted apart: equal ones would wait for each other's counts.
  Histogram even[kChannels] = {}, odd[kChannels] = {};
  const int64_t width = image.shape.width;
  for (int64_t y = 0; y < image.shape.height; ++y) {
    const uint8_t* pixel = image.row(y);
    for (int64_t x = 0; x < width; ++x, pixel += kChannels) {
      Histogram* const counts = x % 2 == 0 ? even : odd;
      (++counts[kChannel][pixel[kChannel]], ...);
    }
  }
  ByteTable tables[kChannels];
  for (size_t c = 0; c < kChannels; ++c) {
    std::transform(even[c].begin(), even[c].end(), odd[c].begin(), even[c].begin(), std::plus<>());
    tables[c] = table_of(even[c]);
  }
  for (int64_t y = 0; y < image.shape.height; ++y) {
    uint8_t* pixel = image.row(y);
    for (int64_t x = 0; x < width; ++x, pixel += kChannels) {
      ((pixel[kChannel] = tables[kChannel][pixel[kChannel]]), ...);
    }
  }
}

template <typename TableOfHistogram>
void ChangeGrayOrColors(const PixelsOf<uint8_t>& image, TableOfHistogram table_of) {
  image.shape.channels == 1 ? ChangeChannels(image, table_of, std::make_index_sequence<1>())
                            : ChangeChannels(image, table_of, std::make_index_sequence<3>());
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

void Invert(const PixelsOf<uint8_t>& image) {
  const int64_t length = image.shape.width * image.shape.channels;
  for (int64_t y = 0; y < image.shape.height; ++y) {
    uint8_t* const row = image.row(y);
    for (int64_t k = 0; k < length; ++k) row[k] = static_cast<uint8_t>(~row[k]);
  }
}

void Posterize(int bits, const PixelsOf<uint8_t>& image) {
  const int kept = 0xff00 >> bits;
  ApplyTable(TableOf([&](uint8_t value) { return static_cast<uint8_t>(value & kept); }), image);
}

void Solarize(double threshold, const PixelsOf<uint8_t>& image) {
  if (threshold <= 0) return Invert(image);
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

void AutoContrast(const PixelsOf<uint8_t>& image) { ChangeGrayOrColors(image, Spread); }

void Equalize(const PixelsOf<uint8_t>& image) { ChangeGrayOrColors(image, Equalized); }

}  // namespace millhopper
