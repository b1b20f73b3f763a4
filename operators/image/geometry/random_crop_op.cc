// SPDX-License-Identifier: Apache-2.0
// random_crop: a part of each image, anywhere.
#include "framework/base/attribute.h"
#include "operators/image/geometry/geometric.h"
#include "operators/image/image_argument.h"
#include "operators/image/runs/image_steps.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  OpSchema schema = WithDraws(GeometricSchema(
      "A part of each image, anywhere: draw 0, below the number of possible places, is its first "
      "row, draw 1 its first column.",
      "[N, size[0], size[1], C], type of X; may be X"));
  AddSizeAttribute(&schema);
  return schema
      .Check(
          [](const proto::OpDesc&, const AttributeMap& attributes) { RandomCropStep{attributes}; })
      .Infer([](InferContext& context) {
        const ImageSize size = RandomCropStep(context.attributes()).size;
        InferMoved(context, size.height, size.width);
      });
}

void Run(OpContext& context) {
  const ImageShape shape = ShapeOfImages(context);
  const RandomCropStep step(context.attributes());
  const RandomKey key = ImageKey(context);
  const auto [height, width] = step.size;
  MovePlaces(context, height, width, [&, height = height, width = width](uint64_t i) {
    return MapOfPart(step.Of(shape, key, i), height, width);
  });
  MoveImages(context, height, width, [&](uint64_t i, auto from, auto to, bool) {
    CopyPixels(from.Crop(step.Of(shape, key, i)), to);
  });
}

REGISTER_OPERATOR(random_crop, Schema, Run);

}  // namespace
}  // namespace millhopper
