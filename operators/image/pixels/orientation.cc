// SPDX-License-Identifier: Apache-2.0
#include "operators/image/pixels/orientation.h"

#include <algorithm>
#include <array>
#include <utility>

namespace millhopper {
namespace {

// How the coordinates of the upright image become those of the stored one: x and y are exchanged
// first, then each may count from the other end.
struct Turn {
  bool exchanged, from_right, from_bottom;
};

Turn TurnOf(int orientation) {
  constexpr std::array<Turn, 8> kTurns = {{{false, false, false},
                                           {false, true, false},
                                           {false, true, true},
                                           {false, false, true},
                                           {true, false, false},
                                           {true, false, true},
                                           {true, true, true},
                                           {true, true, false}}};
  return kTurns[static_cast<size_t>(orientation - 1)];
}

template <int kChannels, typename T>
void OrientRows(const PixelsOf<const T>& stored, const Turn& turn, const PixelsOf<T>& upright) {
  const ImageShape& from = stored.shape;
  // Values from one pixel of a row of the upright image to the next.
  const int64_t along_x = turn.from_right ? -kChannels : kChannels;
  const int64_t along_y = turn.from_bottom ? -stored.row_stride : stored.row_stride;
  const int64_t step = turn.exchanged ? along_y : along_x;
  const int64_t row_step = turn.exchanged ? along_x : along_y;
  const T* row = stored.row(turn.from_bottom ? from.height - 1 : 0) +
                 (turn.from_right ? (from.width - 1) * kChannels : 0);
  for (int64_t y = 0; y < upright.shape.height; ++y, row += row_step) {
    const T* pixel = row;
    T* to = upright.row(y);
    for (int64_t x = 0; x < upright.shape.width; ++x, pixel += step, to += kChannels) {
      std::copy_n(pixel, kChannels, to);
    }
  }
}

}  // namespace

ImageShape Upright(const ImageShape& stored, int orientation) {
  if (!TurnOf(orientation).exchanged) return stored;
  return {stored.width, stored.height, stored.channels};
}

Box ToStored(const Box& upright, int orientation, const ImageShape& stored) {
  const Turn turn = TurnOf(orientation);
  Box box = upright;
  if (turn.exchanged) {
    std::swap(box.x, box.y);
    std::swap(box.width, box.height);
  }
  if (turn.from_right) box.x = stored.width - box.x - box.width;
  if (turn.from_bottom) box.y = stored.height - box.y - box.height;
  return box;
}

template <typename T>
void Orient(const PixelsOf<const T>& stored, int orientation, const PixelsOf<T>& upright) {
  const Turn turn = TurnOf(orientation);
  switch (stored.shape.channels) {
    case 1:
      return OrientRows<1>(stored, turn, upright);
    case 2:
      return OrientRows<2>(stored, turn, upright);
    case 3:
      return OrientRows<3>(stored, turn, upright);
    default:
      return OrientRows<4>(stored, turn, upright);
  }
}

template void Orient(const PixelsOf<const uint8_t>&, int, const PixelsOf<uint8_t>&);
template void Orient(const PixelsOf<const uint16_t>&, int, const PixelsOf<uint16_t>&);

}  // namespace millhopper
