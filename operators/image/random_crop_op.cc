// SPDX-License-Identifier: Apache-2.0
// random_crop: a part of each image, anywhere.
#include "framework/base/attribute.h"
#include "operators/image/image_argument.h"
#include "operators/image/runs/image_steps.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  OpSchema schema = RandomImageSchema(
      "A part of each image, anywhere: draw 0, below the number of possible places, is its first "
      "row, draw 1 its first column.",
      "[N, size[0], size[1], C], type of X; may be X");
  AddSizeAttribute(&schema);
  return schema
      .Check(
          [](const proto::OpDesc&, const AttributeMap& attributes) { RandomCropStep{attributes}; })
      .Infer([](InferContext& context) {
        const Dims dims = InferImages(context);
        const ImageSize size = RandomCropStep(context.attributes()).size;
        SetOutImages(context, {dims[0], size.height, size.width, dims[3]});
      });
}

void Run(OpContext& context) {
  const ImageShape shape = ShapeOfImages(context);
  const RandomCropStep step(context.attributes());
  const RandomKey key = ImageKey(context);
  MakeImages(context, step.size.height, step.size.width, [&](uint64_t i, auto from, auto to) {
    CopyPixels(from.Crop(step.Of(shape, key, i)), to);
  });
}

REGISTER_OPERATOR(random_crop, Schema, Run);

}  // namespace
}  // namespace millhopper
