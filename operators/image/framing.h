// SPDX-License-Identifier: Apache-2.0
// Which pixels of an image a row of crops, one resize and flips leave, and where they go. Nothing
// is done to pixels here; whoever does it can leave out all that nobody will see.
#ifndef MILLHOPPER_OPERATORS_IMAGE_FRAMING_H_
#define MILLHOPPER_OPERATORS_IMAGE_FRAMING_H_

#include "operators/image/image.h"

namespace millhopper {

// The result is what this gives: `source` is cut out of the whole image and resized to `height` x
// `width`; `window` is cut out of that and mirrored.
class Framing {
 public:
  // At first, the whole image.
  explicit Framing(const ImageShape& whole)
      : source_{0, 0, whole.width, whole.height},
        height_(whole.height),
        width_(whole.width),
        window_(source_) {}

  // The size of the result.
  int64_t height() const { return window_.height; }
  int64_t width() const { return window_.width; }

  // Keeps a part of the result.
  void Crop(const Box& box);
  // Resizes the result. Call this once at most, and before any Flip.
  void Resize(int64_t height, int64_t width);
  // Mirrors the result: left and right, or top and bottom.
  void Flip(bool horizontal) { (horizontal ? mirrored_ : upside_down_) ^= true; }

  const Box& source() const { return source_; }
  int64_t resized_height() const { return height_; }
  int64_t resized_width() const { return width_; }
  const Box& window() const { return window_; }
  bool mirrored() const { return mirrored_; }
  bool upside_down() const { return upside_down_; }

 private:
  Box source_;
  int64_t height_, width_;
  Box window_;
  bool mirrored_ = false, upside_down_ = false;
};

// Where a box of an image lies in the image as it is stored, if EXIF gives the orientation. `shape`
// is the size of the stored image.
Box StoredBox(const Box& box, const ImageShape& stored, int orientation);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_FRAMING_H_
