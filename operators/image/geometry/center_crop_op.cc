// SPDX-License-Identifier: Apache-2.0
// center_crop: the middle of each image.
#include "framework/base/attribute.h"
#include "operators/image/geometry/geometric.h"
#include "operators/image/image_argument.h"
#include "operators/image/runs/image_steps.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  OpSchema schema = GeometricSchema(
      "The middle of each image. As with torchvision, half a row or column is rounded to even.",
      "[N, size[0], size[1], C], type of X; may be X");
  AddSizeAttribute(&schema);
  return schema
      .Check(
          [](const proto::OpDesc&, const AttributeMap& attributes) { CenterCropStep{attributes}; })
      .Infer([](InferContext& context) {
        const ImageSize size = CenterCropStep(context.attributes()).size;
        InferMoved(context, size.height, size.width);
      });
}

void Run(OpContext& context) {
  const ImageShape shape = ShapeOfImages(context);
  const Box box = CenterCropStep(context.attributes()).Of(shape);
  MovePlaces(context, box.height, box.width,
             [&](uint64_t) { return MapOfPart(box, box.height, box.width); });
  MoveImages(context, box.height, box.width,
             [&](uint64_t, auto from, auto to, bool) { CopyPixels(from.Crop(box), to); });
}

REGISTER_OPERATOR(center_crop, Schema, Run);

}  // namespace
}  // namespace millhopper
