// SPDX-License-Identifier: Apache-2.0
#include "operators/image/pixels/framing.h"

namespace millhopper {

void Framing::Crop(const Box& box) {
  window_.x += mirrored_ ? window_.width - box.x - box.width : box.x;
  window_.y += upside_down_ ? window_.height - box.y - box.height : box.y;
  window_.width = box.width;
  window_.height = box.height;
}

void Framing::Resize(int64_t height, int64_t width) {
  source_ = window_;
  height_ = height;
  width_ = width;
  window_ = {0, 0, width, height};
}

}  // namespace millhopper
