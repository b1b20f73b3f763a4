// SPDX-License-Identifier: Apache-2.0
#include "operators/image/pixels/channels.h"

#include <algorithm>

#include "operators/image/pixels/alpha.h"

namespace millhopper {
namespace {

constexpr uint8_t kOpaque = 255;

bool HasColors(int64_t channels) { return channels >= 3; }

uint8_t Gray(const uint8_t* pixel) {
  constexpr uint32_t kRed = 19595, kGreen = 38470, kBlue = 7471, kHalf = 32768;
  return static_cast<uint8_t>((kRed * pixel[0] + kGreen * pixel[1] + kBlue * pixel[2] + kHalf) >>
                              16);
}

}  // namespace

void ConvertChannels(const uint8_t* from, int64_t from_channels, int64_t width, uint8_t* to,
                     int64_t to_channels) {
  if (from_channels == to_channels) {
    std::copy_n(from, width * from_channels, to);
    return;
  }
  for (int64_t x = 0; x < width; ++x, from += from_channels, to += to_channels) {
    if (!HasColors(to_channels)) {
      to[0] = HasColors(from_channels) ? Gray(from) : from[0];
    } else if (HasColors(from_channels)) {
      std::copy_n(from, 3, to);
    } else {
      std::fill_n(to, 3, from[0]);
    }
    if (HasAlpha(to_channels)) {
      to[to_channels - 1] = HasAlpha(from_channels) ? from[from_channels - 1] : kOpaque;
    }
  }
}

}  // namespace millhopper
