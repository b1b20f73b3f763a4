// SPDX-License-Identifier: Apache-2.0
// Polygons and runs as the pixels within them, in the way of COCO's tools.
#ifndef MILLHOPPER_OPERATORS_IMAGE_PIXELS_OUTLINES_H_
#define MILLHOPPER_OPERATORS_IMAGE_PIXELS_OUTLINES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "operators/image/pixels/image.h"

namespace millhopper {

// Where the pixels of a mask, column after column, change between off and on: at each of these
// places, from a mask that is off.
class Outline {
 public:
  // Of a mask of this size.
  Outline(int64_t height, int64_t width) : height_(height), width_(width) {}

  // Begins a polygon, whose places replace those before it.
  void BeginPolygon();
  // Its next corner, in pixels. Throws kInvalidArgument for one that is no number or farther than
  // kFarthest from the image, and kResourceLimit if its sides are too long together.
  void AddCorner(double x, double y);
  // Draws the side from the last corner to the first, and sorts the places.
  void EndPolygon();
  // Adds a run: a place so many pixels after the one before.
  void BeginRuns();
  void AddRun(uint64_t pixels);
  // How many pixels the runs have.
  uint64_t pixels_of_runs() const { return pixels_; }

  // Sets the pixels that are on to a value; leaves the others. The image has the size of the mask,
  // and one channel.
  template <typename T>
  void Paint(T value, const PixelsOf<T>& image) const {
    for (size_t i = 0; i < places_.size(); i += 2) {
      const uint64_t end = i + 1 < places_.size() ? places_[i + 1] : size();
      for (uint64_t place = places_[i]; place < end; ++place) {
        image.row(static_cast<int64_t>(place) % height_)[static_cast<int64_t>(place) / height_] =
            value;
      }
    }
  }

  static constexpr double kFarthest = 1 << 20;

 private:
  // A corner on a grid that is five times as fine.
  struct Corner {
    int x, y;
  };

  uint64_t size() const { return static_cast<uint64_t>(height_ * width_); }
  void DrawSide(Corner from, Corner to);
  void Visit(int x, int y);

  const int64_t height_, width_;
  std::vector<uint64_t> places_;
  uint64_t pixels_ = 0;
  uint64_t steps_ = 0;  // along the sides of the polygon
  bool has_corner_ = false, has_point_ = false;
  Corner first_{}, last_{};  // corners
  int x_ = 0, y_ = 0;        // the point that was visited last
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_PIXELS_OUTLINES_H_
