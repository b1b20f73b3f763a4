// SPDX-License-Identifier: Apache-2.0
// rotate: images turned by an angle that is drawn.
#include "framework/base/attribute.h"
#include "operators/image/geometry/warped_images.h"
#include "operators/image/image_argument.h"
#include "operators/image/image_draws.h"
#include "operators/image/image_sampling.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  OpSchema schema = WarpSchema(
      "Turns each image counter-clockwise by an angle that is drawn; its size stays. The map is "
      "that "
      "of torchvision's RandomRotation with tensors, places have 24 bits after the point; nearest "
      "takes the right or lower one of two pixels at the same distance, bilinear weighs by 11 bits "
      "and rounds, and mixes the fill in once at the border, where torchvision darkens it. Draw 0 "
      "gives the angle: low + (high - low) * u with u in [0, 1) of 53 bits. X is uint8 with 1 or 3 "
      "channels and at most 2^20 pixels each way.");
  schema.Attr(
      AttributeSchema("degrees", std::vector<float>{},
                      "{d}: from -d to d; {low, high}: from low to high, the same twice for "
                      "one angle")
          .Required());
  return schema
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        RangeAround(attributes, "degrees", 0);
        CheckWarp(attributes);
      })
      .Infer(InferWarped);
}

void Run(OpContext& context) {
  const DrawnRange degrees = RangeAround(context.attributes(), "degrees", 0);
  const RandomKey key = ImageKey(context);
  Affine affine;
  SetCenter(context.attributes(), ShapeOfImages(context), &affine);
  WarpImages(context, [&](uint64_t i) {
    affine.clockwise = -degrees.At(key.Bits(i, 0));
    return InverseOf(affine);
  });
}

REGISTER_OPERATOR(rotate, Schema, Run);

}  // namespace
}  // namespace millhopper
