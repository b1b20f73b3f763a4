// SPDX-License-Identifier: Apache-2.0
// center_crop: the middle of each image.
#include "framework/base/attribute.h"
#include "operators/image/image_argument.h"
#include "operators/image/runs/image_steps.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  OpSchema schema = ImageSchema(
      "The middle of each image. As with torchvision, half a row or column is rounded to even.",
      "[N, size[0], size[1], C], type of X; may be X");
  AddSizeAttribute(&schema);
  return schema
      .Check(
          [](const proto::OpDesc&, const AttributeMap& attributes) { CenterCropStep{attributes}; })
      .Infer([](InferContext& context) {
        const Dims dims = InferImages(context);
        const ImageSize size = CenterCropStep(context.attributes()).size;
        SetOutImages(context, {dims[0], size.height, size.width, dims[3]});
      });
}

void Run(OpContext& context) {
  const ImageShape shape = ShapeOfImages(context);
  const CenterCropStep step(context.attributes());

  MakeImages(context, step.size.height, step.size.width,
             [&](uint64_t, auto from, auto to) { CopyPixels(from.Crop(step.Of(shape)), to); });
}

REGISTER_OPERATOR(center_crop, Schema, Run);

}  // namespace
}  // namespace millhopper
