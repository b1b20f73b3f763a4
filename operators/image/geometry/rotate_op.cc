// SPDX-License-Identifier: Apache-2.0
// rotate: images turned by an angle that is drawn.
#include <cmath>
#include <cstdint>
#include <vector>

#include "framework/base/attribute.h"
#include "operators/image/geometry/warped_images.h"
#include "operators/image/image_argument.h"
#include "operators/image/image_draws.h"
#include "operators/image/image_sampling.h"
#include "operators/image/runs/image_steps.h"
#include "operators/support/arguments.h"

namespace millhopper {
namespace {

// The least size that holds all of an image that is turned by an angle, whose inverse is given
// (Source: _compute_affine_output_size of torchvision/transforms/v2/functional/_geometry.py).
ImageSize Around(double degrees, const AffineMap& inverse, const ImageShape& shape) {
  if (std::fmod(degrees, 180) == 0) return {shape.height, shape.width};
  if (std::fmod(degrees, 90) == 0) return {shape.width, shape.height};
  // In float32, as there, where what is 0 but for rounding goes.
  const float half_width = static_cast<float>(shape.width) / 2;
  const float half_height = static_cast<float>(shape.height) / 2;
  const auto side = [&](double of_x, double of_y, float half) {
    constexpr float kParts = 1e4f, kPart = 1e-4f;  // of a pixel; smaller ones do not count
    const float reach = static_cast<float>(std::abs(of_x)) * half_width +
                        static_cast<float>(std::abs(of_y)) * half_height;
    const float last = std::ceil(std::trunc((half + reach) * kParts) * kPart);
    const float first = std::floor(std::trunc((half - reach) * kParts) * kPart);
    return static_cast<int64_t>(last - first);
  };
  return {side(inverse.yx, inverse.yy, half_height), side(inverse.xx, inverse.xy, half_width)};
}

OpSchema Schema() {
  OpSchema schema = WarpSchema(
      "Turns each image counter-clockwise by an angle that is drawn; its size stays, unless "
      "`expand` is true. The map is that of torchvision's RandomRotation with tensors, places have "
      "24 bits after the point; nearest takes the right or lower one of two pixels at the same "
      "distance, bilinear weighs by 11 bits and rounds, and mixes the fill in once at the border, "
      "where torchvision darkens it; bicubic is that of Pillow's Image.transform. Draw 0 gives the "
      "angle: low + (high - low) * u with u in [0, 1) of 53 bits. X is uint8 with 1 or 3 channels "
      "and at most 2^20 pixels each way.",
      "images of the type of X, and without `expand` of its dims; may be X");
  WithCenter(schema);
  schema
      .Attr(AttributeSchema("degrees", std::vector<float>{},
                            "{d}: from -d to d; {low, high}: from low to high, the same twice for "
                            "one angle")
                .Required())
      .Attr({"expand", false,
             "whether images become as large as all of the turned image needs, which is turned "
             "about its middle; several images of one X must then get one size"});
  return schema
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        RangeAround(attributes, "degrees", 0);
        CheckCenter(attributes);
        Require(
            !attributes.Get<bool>("expand") || attributes.Get<std::vector<float>>("center").empty(),
            "attribute 'center' is given, but with 'expand' it is the middle of the image");
        CheckWarp(attributes);
      })
      .Infer([](InferContext& context) {
        if (context.Attr<bool>("expand")) return InferWarped(context, -1, -1);
        InferWarped(context);
      });
}

void Run(OpContext& context) {
  const ImageShape shape = ShapeOfImages(context);
  const DrawnRange degrees = RangeAround(context.attributes(), "degrees", 0);
  const RandomKey key = ImageKey(context);
  Affine affine;
  SetCenter(context.attributes(), shape, &affine);
  const auto inverse_of = [&](uint64_t i) {
    affine.clockwise = -degrees.At(key.Bits(i, 0));
    return InverseOf(affine);
  };
  ImageSize size{shape.height, shape.width};
  if (context.Attr<bool>("expand")) {
    size = OneSize(context, [&](uint64_t i) {
      const AffineMap inverse = inverse_of(i);
      return Around(affine.clockwise, inverse, shape);
    });
  }
  WarpImages(context, size.height, size.width, inverse_of);
}

REGISTER_OPERATOR(rotate, Schema, Run);

}  // namespace
}  // namespace millhopper
