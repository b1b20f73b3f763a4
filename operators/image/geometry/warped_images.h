// SPDX-License-Identifier: Apache-2.0
// For operators that turn, shear and scale images of bytes, which keep their size.
#ifndef MILLHOPPER_OPERATORS_IMAGE_GEOMETRY_WARPED_IMAGES_H_
#define MILLHOPPER_OPERATORS_IMAGE_GEOMETRY_WARPED_IMAGES_H_

#include <cstdint>
#include <functional>
#include <string>

#include "framework/program/operator.h"
#include "operators/image/pixels/affine.h"

namespace millhopper {

// The schema of such an operator, which draws: with the attributes of image_sampling.h and
// `mask_fill`.
OpSchema WarpSchema(std::string doc);
// Throws kInvalidArgument if one of these attributes is wrong.
void CheckWarp(const AttributeMap& attributes);
// Says that everything keeps its type and dims. Throws kInvalidArgument unless X and Masks may hold
// images of bytes.
void InferWarped(InferContext& context);
// Takes each pixel of image i from where inverse_of(i) says, and moves what belongs to the image.
// Throws kInvalidArgument unless X and Masks hold images of bytes that Warp takes.
void WarpImages(OpContext& context, const std::function<AffineMap(uint64_t i)>& inverse_of);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_GEOMETRY_WARPED_IMAGES_H_
