// SPDX-License-Identifier: Apache-2.0
// Operations on bytes that look at one value at a time: a table of what becomes of each value.
#ifndef MILLHOPPER_OPERATORS_IMAGE_PIXELS_BYTE_TABLE_H_
#define MILLHOPPER_OPERATORS_IMAGE_PIXELS_BYTE_TABLE_H_

#include <array>
#include <cstdint>

#include "operators/image/pixels/image.h"

namespace millhopper {

using ByteTable = std::array<uint8_t, 256>;

// The table of a function from uint8_t to uint8_t.
template <typename Function>
ByteTable TableOf(Function function) {
  ByteTable table{};
  for (int value = 0; value < 256; ++value) {
    table[static_cast<size_t>(value)] = function(static_cast<uint8_t>(value));
  }
  return table;
}

// Replaces every value of an image.
inline void ApplyTable(const ByteTable& table, const PixelsOf<uint8_t>& image) {
  const int64_t length = image.shape.width * image.shape.channels;
  for (int64_t y = 0; y < image.shape.height; ++y) {
    uint8_t* const row = image.row(y);
    for (int64_t k = 0; k < length; ++k) row[k] = table[row[k]];
  }
}

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_PIXELS_BYTE_TABLE_H_
