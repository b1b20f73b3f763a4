// SPDX-License-Identifier: Apache-2.0
// Boxes and points of images, float32 or float64. Boxes are [n, 4], points [.., 2], or [.., 3]
// whose third number (a key point's visibility) stays. Places are in pixels from the upper left
// corner of the image, x to the right and y downwards: the pixel at the top left covers 0 to 1 each
// way. Levels of detail, if there are any, say which of them belong to which image; without levels
// those of one image are all, and each of several images has as many.
#ifndef MILLHOPPER_OPERATORS_IMAGE_GEOMETRY_BOXES_H_
#define MILLHOPPER_OPERATORS_IMAGE_GEOMETRY_BOXES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "framework/program/infer_context.h"
#include "framework/program/operator.h"
#include "operators/image/pixels/image.h"
#include "operators/support/arguments.h"

namespace millhopper {

constexpr char kWantedBoxes[] = "boxes are float32 or float64 [n, 4] (cast makes such of integers)";
constexpr char kWantedPoints[] =
    "points are float32 or float64 [.., 2] or [.., 3] (cast makes such of integers)";

// A box by its sides, in pixels.
struct Corners {
  double left = 0, top = 0, right = 0, bottom = 0;

  double area() const { return (right - left) * (bottom - top); }
};

// So many pixels as a part of a side that has `side` of them; of a side without pixels 0, since
// they are no part of it.
inline double PartOfSide(double pixels, int64_t side) {
  return side > 0 ? pixels / static_cast<double>(side) : 0;
}

// How four numbers say where a box is.
struct BoxNotation {
  enum Format { kCorners, kSize, kCentre };

  Format format = kCorners;
  bool relative = false;  // to the sides of the image

  Corners Read(const double (&values)[4], const ImageShape& image) const;
  void Write(const Corners& corners, const ImageShape& image, double (&values)[4]) const;
};

// Declares the attributes `<before>box_format` and `<before>relative`.
OpSchema& WithBoxNotation(OpSchema& schema, const std::string& before = "");
BoxNotation BoxNotationOf(const AttributeMap& attributes, const std::string& before = "");

// Throw kInvalidArgument unless argument i may hold boxes, or points.
void InferBoxes(const InferContext& context, std::string_view parameter, size_t i);
void InferPoints(const InferContext& context, std::string_view parameter, size_t i);
void RequireBoxes(const OpContext& context, std::string_view parameter, size_t i);
void RequirePoints(const OpContext& context, std::string_view parameter, size_t i);

// Rows of a tensor.
struct RowRange {
  uint64_t begin, end;
};
// Those of argument i that belong to an image. Throws kInvalidArgument if they are not divided
// among so many images.
RowRange RowsOfImage(const OpContext& context, std::string_view parameter, size_t i, uint64_t image,
                     uint64_t images);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_GEOMETRY_BOXES_H_
