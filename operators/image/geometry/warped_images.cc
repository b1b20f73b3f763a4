// SPDX-License-Identifier: Apache-2.0
#include "operators/image/geometry/warped_images.h"

#include <utility>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "operators/image/byte_images.h"

namespace millhopper {

OpSchema WarpSchema(std::string doc, std::string out) {
  OpSchema schema = WithDraws(GeometricSchema(std::move(doc), std::move(out)));
  return WithMaskFill(WithSampling(schema));
}

void CheckWarp(const AttributeMap& attributes) {
  SamplingOf(attributes, -1);
  SamplingOfMasks(attributes);
}

void InferWarped(InferContext& context, int64_t height, int64_t width, int64_t matrix_rows) {
  InferMoved(context, height, width, matrix_rows);
  for (const char* const parameter : {"X", "Masks"}) {
    for (size_t i = 0; i < context.InCount(parameter); ++i) InferByteImages(context, parameter, i);
  }
}

void InferWarped(InferContext& context, int64_t matrix_rows) {
  const Dims dims = InferImages(context);
  InferWarped(context, dims[1], dims[2], matrix_rows);
}

Sampling SamplingOfMasks(const AttributeMap& attributes) {
  const int32_t fill = MaskFillOf(attributes);
  Require(fill <= 255, "attribute 'mask_fill' is ", fill, "; values of pixels are from 0 to 255");
  Sampling sampling;
  sampling.fill.fill(static_cast<uint8_t>(fill));
  return sampling;
}

void RequireWarpable(const OpContext& context) {
  RequireWarpable(ShapeOfImages(context));
  for (const char* const parameter : {"X", "Masks"}) {
    for (size_t i = 0; i < context.InCount(parameter); ++i) {
      RequireByteImages(context, parameter, i);
    }
  }
}

}  // namespace millhopper
