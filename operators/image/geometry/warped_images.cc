// SPDX-License-Identifier: Apache-2.0
#include "operators/image/geometry/warped_images.h"

#include <type_traits>
#include <utility>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "operators/image/byte_images.h"
#include "operators/image/geometry/geometric.h"
#include "operators/image/image_sampling.h"

namespace millhopper {
namespace {

Sampling SamplingOfMasks(const AttributeMap& attributes) {
  const int32_t fill = MaskFillOf(attributes);
  Require(fill <= 255, "attribute 'mask_fill' is ", fill, "; values of pixels are from 0 to 255");
  Sampling sampling;
  sampling.fill.fill(static_cast<uint8_t>(fill));
  return sampling;
}

}  // namespace

OpSchema WarpSchema(std::string doc) {
  OpSchema schema =
      WithDraws(GeometricSchema(std::move(doc), "images with dims and type of X; may be X"));
  return WithMaskFill(WithCenter(WithSampling(schema)));
}

void CheckWarp(const AttributeMap& attributes) {
  CheckCenter(attributes);
  SamplingOf(attributes, -1);
  SamplingOfMasks(attributes);
}

void InferWarped(InferContext& context) {
  const Dims dims = InferImages(context);
  InferMoved(context, dims[1], dims[2]);
  for (const char* const parameter : {"X", "Masks"}) {
    for (size_t i = 0; i < context.InCount(parameter); ++i) InferByteImages(context, parameter, i);
  }
}

void WarpImages(OpContext& context, const std::function<AffineMap(uint64_t i)>& inverse_of) {
  const ImageShape shape = ShapeOfImages(context);
  RequireWarpable(shape);
  for (const char* const parameter : {"X", "Masks"}) {
    for (size_t i = 0; i < context.InCount(parameter); ++i) {
      RequireByteImages(context, parameter, i);
    }
  }
  const Sampling of_masks = SamplingOfMasks(context.attributes());
  MovePlaces(context, shape.height, shape.width,
             [&](uint64_t i) { return MapOfWarp(inverse_of(i), shape); });
  MoveImages(context, shape.height, shape.width, [&](uint64_t i, auto from, auto to, bool is_mask) {
    if constexpr (std::is_same_v<decltype(to), PixelsOf<uint8_t>>) {
      Warp(from, inverse_of(i),
           is_mask ? of_masks : SamplingOf(context.attributes(), from.shape.channels), to);
    }
  });
}

}  // namespace millhopper
