// SPDX-License-Identifier: Apache-2.0
// What pixels are that no image covers.
#ifndef MILLHOPPER_OPERATORS_IMAGE_GEOMETRY_FILLS_H_
#define MILLHOPPER_OPERATORS_IMAGE_GEOMETRY_FILLS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "framework/program/operator.h"
#include "operators/image/pixels/image.h"

namespace millhopper {

// The value of new pixels, or one for each channel.
using Fill = std::vector<float>;

// Throws kInvalidArgument, naming the attribute that says it, unless all images of an input hold
// the fill, and have a channel for each value where there are several.
void RequireFill(const OpContext& context, const char* parameter, const Fill& fill,
                 const char* attribute);

// Sets all pixels.
template <typename T>
void FillPixels(const Fill& fill, const PixelsOf<T>& to) {
  if (to.shape.values() == 0) return;
  for (int64_t i = 0; i < to.shape.width * to.shape.channels; ++i) {
    const auto channel = static_cast<size_t>(i % to.shape.channels);
    to.row(0)[i] = static_cast<T>(fill[channel % fill.size()]);
  }
  for (int64_t y = 1; y < to.shape.height; ++y) {
    std::copy_n(to.row(0), to.shape.width * to.shape.channels, to.row(y));
  }
}

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_GEOMETRY_FILLS_H_
