// SPDX-License-Identifier: Apache-2.0
// Computes which pixels of an image remain after a sequence of crops, one resize and flips, and
// where they go, so that a caller need not compute the others. Does nothing to pixels.
#ifndef MILLHOPPER_OPERATORS_IMAGE_PIXELS_FRAMING_H_
#define MILLHOPPER_OPERATORS_IMAGE_PIXELS_FRAMING_H_

#include "operators/image/pixels/image.h"

namespace millhopper {

// The result: source() is cut out of the whole image and, if is_resized(), resized; window() is cut
// out of that, or else out of the whole image, and mirrored.
class Framing {
 public:
  // At first, the whole image.
  explicit Framing(const ImageShape& whole) : window_{0, 0, whole.width, whole.height} {}

  // The size of the result.
  int64_t height() const { return window_.height; }
  int64_t width() const { return window_.width; }

  // Keeps a part of the result.
  void Crop(const Box& box);
  // Resizes the result. Call this once at most, and before any Flip.
  void Resize(int64_t height, int64_t width);
  // Mirrors the result: left and right, or top and bottom.
  void Flip(bool horizontal) { (horizontal ? mirrored_ : upside_down_) ^= true; }

  bool is_resized() const { return height_ > 0; }
  const Box& source() const { return source_; }
  int64_t resized_height() const { return height_; }
  int64_t resized_width() const { return width_; }
  const Box& window() const { return window_; }
  bool mirrored() const { return mirrored_; }
  bool upside_down() const { return upside_down_; }

 private:
  Box source_;
  int64_t height_ = 0, width_ = 0;  // 0 while it is not resized
  Box window_;
  bool mirrored_ = false, upside_down_ = false;
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_PIXELS_FRAMING_H_
