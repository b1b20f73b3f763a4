// SPDX-License-Identifier: Apache-2.0
// affine: images turned, moved, scaled and sheared by amounts that are drawn.
#include <cmath>
#include <vector>

#include "framework/base/attribute.h"
#include "operators/image/geometry/warped_images.h"
#include "operators/image/image_argument.h"
#include "operators/image/image_draws.h"
#include "operators/image/image_sampling.h"

namespace millhopper {
namespace {

// What the attributes ask for.
struct AffineStep {
  explicit AffineStep(const AttributeMap& attributes)
      : degrees(RangeAround(attributes, "degrees", 0)) {
    const auto& moved = attributes.Get<std::vector<float>>("translate");
    Require(moved.empty() || (moved.size() == 2 && moved[0] >= 0 && moved[0] <= 1 &&
                              moved[1] >= 0 && moved[1] <= 1),
            "attribute 'translate' must be empty, or the parts of width and height that an image "
            "is moved by at most, from 0 to 1");
    if (!moved.empty()) translate_x = moved[0], translate_y = moved[1];
    const auto& scales = attributes.Get<std::vector<float>>("scale");
    Require(scales.size() != 1,
            "attribute 'scale' has one value; it is the lowest and the highest");
    scale = RangeAround(attributes, "scale", 1);
    Require(scale.low >= 0.001 && scale.high <= 1000, "attribute 'scale' asks for the range from ",
            scale.low, " to ", scale.high, "; it must lie within 0.001 and 1000");
    SetShear(attributes.Get<std::vector<float>>("shear"));
  }

  void SetShear(const std::vector<float>& shear) {
    Require(shear.size() <= 4 && shear.size() != 3, "attribute 'shear' has ", shear.size(),
            " values; it is {d}, {low, high} or {low_x, high_x, low_y, high_y}");
    for (const float value : shear) {
      Require(value >= -89 && value <= 89, "attribute 'shear' has the value ", value,
              "; it must lie within -89 and 89 degrees");
    }
    if (shear.size() == 1) shear_x = {-shear[0], shear[0]};
    if (shear.size() >= 2) shear_x = {shear[0], shear[1]};
    if (shear.size() == 4) shear_y = {shear[2], shear[3]};
    Require(shear_x.low <= shear_x.high && shear_y.low <= shear_y.high,
            "attribute 'shear' asks for a range whose lowest value is not first");
  }

  void Draw(const RandomKey& key, uint64_t i, const ImageShape& shape, Affine* affine) const {
    const auto move = [&](double part, int64_t side, uint64_t draw) {
      const double most = part * static_cast<double>(side);
      return std::rint(DrawnRange{-most, most}.At(key.Bits(i, draw)));
    };
    affine->clockwise = degrees.At(key.Bits(i, 0));
    affine->right = move(translate_x, shape.width, 1);
    affine->down = move(translate_y, shape.height, 2);
    affine->scale = scale.At(key.Bits(i, 3));
    affine->shear_x = shear_x.At(key.Bits(i, 4));
    affine->shear_y = shear_y.At(key.Bits(i, 5));
  }

  DrawnRange degrees, scale, shear_x, shear_y;
  double translate_x = 0, translate_y = 0;
};

OpSchema Schema() {
  OpSchema schema = WarpSchema(
      "Shears, scales, turns (clockwise) and moves each image by amounts that are drawn; its size "
      "stays. The map is that of torchvision's RandomAffine with tensors; for the pixels see "
      "rotate. Each amount is low + (high - low) * u with u in [0, 1) of 53 bits: draw 0 gives the "
      "angle, 1 and 2 how far to the right and down, rounded to whole pixels, half to even, 3 the "
      "scale, 4 and 5 the shear along x and y. X is uint8 with 1 or 3 channels and at most 2^20 "
      "pixels each way.");
  const std::vector<float> none;
  WithCenter(schema);
  schema.Attr({"degrees", none, "{d}: from -d to d; {low, high}: from low to high; none: 0"})
      .Attr({"translate", none,
             "{x, y}: the parts of width and height that an image is moved by at most either way"})
      .Attr({"scale", none, "{low, high}: factors; none: 1"})
      .Attr({"shear", none,
             "degrees, within -89 and 89. {d}: along x from -d to d; {low, high}: along x; {low_x, "
             "high_x, low_y, high_y}: along both; none: 0"});
  return schema
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        AffineStep{attributes};
        CheckCenter(attributes);
        CheckWarp(attributes);
      })
      .Infer([](InferContext& context) { InferWarped(context); });
}

void Run(OpContext& context) {
  const ImageShape shape = ShapeOfImages(context);
  const AffineStep step(context.attributes());
  const RandomKey key = ImageKey(context);
  Affine affine;
  SetCenter(context.attributes(), shape, &affine);
  WarpImages(context, shape.height, shape.width, [&](uint64_t i) {
    step.Draw(key, i, shape, &affine);
    return InverseOf(affine);
  });
}

REGISTER_OPERATOR(affine, Schema, Run);

}  // namespace
}  // namespace millhopper
