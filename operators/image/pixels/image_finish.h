// SPDX-License-Identifier: Apache-2.0
// The last steps of an image on its way into a batch: mirrored, normalised, as planes.
#ifndef MILLHOPPER_OPERATORS_IMAGE_PIXELS_IMAGE_FINISH_H_
#define MILLHOPPER_OPERATORS_IMAGE_PIXELS_IMAGE_FINISH_H_

#include <cstdint>

#include "operators/image/pixels/image.h"

namespace millhopper {

struct ImageFinish {
  static constexpr int kMostChannels = 4;

  bool mirrored = false;     // left and right
  bool upside_down = false;  // top and bottom
  bool planes = false;       // channels outermost: CHW instead of HWC
  // Whether the result is float32, value * factor + offset of its channel, rounded after each
  // operation; otherwise it is uint8.
  bool normalized = false;
  float factor[kMostChannels] = {};
  float offset[kMostChannels] = {};

  // Writes row y of the image, HWC, where it belongs in the result, which has `shape`.
  void PutRow(const ImageShape& shape, int64_t y, const uint8_t* row, void* result) const;
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_PIXELS_IMAGE_FINISH_H_
