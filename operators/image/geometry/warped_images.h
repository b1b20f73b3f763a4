// SPDX-License-Identifier: Apache-2.0
// For operators that turn, shear and project images of bytes.
#ifndef MILLHOPPER_OPERATORS_IMAGE_GEOMETRY_WARPED_IMAGES_H_
#define MILLHOPPER_OPERATORS_IMAGE_GEOMETRY_WARPED_IMAGES_H_

#include <cstdint>
#include <string>
#include <type_traits>

#include "framework/program/operator.h"
#include "operators/image/geometry/geometric.h"
#include "operators/image/image_sampling.h"
#include "operators/image/pixels/affine.h"
#include "operators/image/pixels/projection.h"

namespace millhopper {

// The schema of such an operator, which draws: with the attributes of image_sampling.h but
// `center`, and `mask_fill`; `out` describes Out.
OpSchema WarpSchema(std::string doc, std::string out = "images with dims and type of X; may be X");
// Throws kInvalidArgument if one of these attributes is wrong.
void CheckWarp(const AttributeMap& attributes);
// Says that images become height x width, where -1 is unknown. Throws kInvalidArgument unless X and
// Masks may hold images of bytes.
void InferWarped(InferContext& context, int64_t height, int64_t width,
                 int64_t matrix_rows = kAffineRows);
// The same where everything keeps its dims.
void InferWarped(InferContext& context, int64_t matrix_rows = kAffineRows);
// The sampling of Masks.
Sampling SamplingOfMasks(const AttributeMap& attributes);
// Throws kInvalidArgument unless X and Masks hold images of bytes that are no larger than Warp
// takes.
void RequireWarpable(const OpContext& context);

// Makes images of height x width: takes each pixel of image i from where inverse_of(i), an
// AffineMap or a Projection, says, and moves what belongs to the image. Throws what RequireWarpable
// throws.
template <typename InverseOf>
void WarpImages(OpContext& context, int64_t height, int64_t width, InverseOf inverse_of) {
  RequireWarpable(context);
  const ImageShape shape = ShapeOfImages(context);
  const Sampling of_masks = SamplingOfMasks(context.attributes());
  constexpr bool kProjects = std::is_same_v<decltype(inverse_of(0)), Projection>;
  MovePlaces(
      context, height, width,
      [&](uint64_t i) { return MapOfWarp(inverse_of(i), shape, height, width); },
      kProjects ? kProjectionRows : kAffineRows);
  MoveImages(context, height, width, [&](uint64_t i, auto from, auto to, bool is_mask) {
    if constexpr (std::is_same_v<decltype(to), PixelsOf<uint8_t>>) {
      Warp(from, inverse_of(i),
           is_mask ? of_masks : SamplingOf(context.attributes(), from.shape.channels), to);
    }
  });
}

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_GEOMETRY_WARPED_IMAGES_H_
