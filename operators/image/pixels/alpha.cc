// SPDX-License-Identifier: Apache-2.0
#include "operators/image/pixels/alpha.h"

#include <algorithm>

namespace millhopper {
namespace {

constexpr uint8_t kOpaque = 255;

// Pixels that are multiplied together. Most are opaque, and stay.
constexpr int64_t kBlock = 16;

template <int64_t kColors>
bool IsOpaque(const uint8_t* pixels, int64_t count) {
  uint8_t all = kOpaque;
  for (int64_t i = 0; i < count; ++i) all &= pixels[i * (kColors + 1) + kColors];
  return all == kOpaque;
}

// In place. Each value has a factor, its alpha or, for alpha itself, the one that it stays with.
template <int64_t kColors>
void MultiplyBlock(uint8_t* pixels) {
  constexpr int64_t kChannels = kColors + 1;
  uint16_t factors[kBlock * kChannels];
  for (int64_t i = 0; i < kBlock; ++i) {
    const uint8_t alpha = pixels[i * kChannels + kColors];
    for (int64_t c = 0; c < kColors; ++c) factors[i * kChannels + c] = alpha;
    factors[i * kChannels + kColors] = kOpaque;
  }
  for (int64_t i = 0; i < kBlock * kChannels; ++i) {
    const auto product = static_cast<uint16_t>(pixels[i] * factors[i] + 128);
    const auto sum = static_cast<uint16_t>(product + (product >> 8));
    pixels[i] = static_cast<uint8_t>(sum >> 8);  // product / 255, rounded
  }
}

template <int64_t kColors>
void MultiplyRow(const uint8_t* from, int64_t width, uint8_t* to) {
  constexpr int64_t kChannels = kColors + 1;
  for (int64_t x = 0; x < width; x += kBlock) {
    const int64_t pixels = std::min(kBlock, width - x), values = pixels * kChannels;
    if (IsOpaque<kColors>(from, pixels)) {
      std::copy_n(from, values, to);
    } else {
      uint8_t block[kBlock * kChannels] = {};
      std::copy_n(from, values, block);
      MultiplyBlock<kColors>(block);
      std::copy_n(block, values, to);
    }
    from += values;
    to += values;
  }
}

template <int64_t kColors>
void DivideRow(const uint8_t* from, int64_t width, uint8_t* to) {
  for (int64_t x = 0; x < width; ++x, from += kColors + 1, to += kColors + 1) {
    const uint32_t alpha = from[kColors];
    const bool stays = alpha == 0 || alpha == kOpaque;  // most pixels: no division
    for (int64_t c = 0; c < kColors; ++c) {
      const uint32_t color =
          stays ? from[c] : std::min<uint32_t>(kOpaque * from[c] / alpha, kOpaque);
      to[c] = static_cast<uint8_t>(color);
    }
    to[kColors] = from[kColors];
  }
}

}  // namespace

void MultiplyByAlpha(const PixelsOf<const uint8_t>& from, const PixelsOf<uint8_t>& to) {
  const auto multiply = from.shape.channels == 2 ? MultiplyRow<1> : MultiplyRow<3>;
  for (int64_t y = 0; y < from.shape.height; ++y)
    multiply(from.row(y), from.shape.width, to.row(y));
}

void DivideByAlpha(const uint8_t* from, int64_t channels, int64_t width, uint8_t* to) {
  (channels == 2 ? DivideRow<1> : DivideRow<3>)(from, width, to);
}

}  // namespace millhopper
