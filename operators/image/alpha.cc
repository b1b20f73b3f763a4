// SPDX-License-Identifier: Apache-2.0
#include "operators/image/alpha.h"

#include <algorithm>

namespace millhopper {
namespace {

constexpr uint32_t kOpaque = 255;

template <int64_t kColors>
void MultiplyRow(const uint8_t* from, int64_t width, uint8_t* to) {
  for (int64_t x = 0; x < width; ++x, from += kColors + 1, to += kColors + 1) {
    const uint32_t alpha = from[kColors];
    for (int64_t c = 0; c < kColors; ++c) {
      const uint32_t product = from[c] * alpha + 128;
      to[c] = static_cast<uint8_t>((product + (product >> 8)) >> 8);  // by 255, rounded
    }
    to[kColors] = from[kColors];
  }
}

template <int64_t kColors>
void DivideRow(const uint8_t* from, int64_t width, uint8_t* to) {
  for (int64_t x = 0; x < width; ++x, from += kColors + 1, to += kColors + 1) {
    const uint32_t alpha = from[kColors];
    if (alpha == 0 || alpha == kOpaque) {  // of nearly all pixels
      std::copy_n(from, kColors + 1, to);
      continue;
    }
    for (int64_t c = 0; c < kColors; ++c) {
      to[c] = static_cast<uint8_t>(std::min(kOpaque * from[c] / alpha, kOpaque));
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
