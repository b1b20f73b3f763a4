// SPDX-License-Identifier: Apache-2.0
// crop: a part of each image.
#include "framework/base/attribute.h"
#include "operators/image/geometry/geometric.h"
#include "operators/image/image_argument.h"
#include "operators/image/runs/image_steps.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  OpSchema schema =
      GeometricSchema("The part of each image that begins at row `top`, column `left`.",
                      "[N, size[0], size[1], C], type of X; may be X");
  AddSizeAttribute(&schema);
  return schema
      .Attr(AttributeSchema("top", int32_t{0}, "the first row; 0 is at the top").AtLeast(0))
      .Attr(AttributeSchema("left", int32_t{0}, "the first column; 0 is on the left").AtLeast(0))
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) { CropStep{attributes}; })
      .Infer([](InferContext& context) {
        const Box box = CropStep(context.attributes()).box;
        InferMoved(context, box.height, box.width);
      });
}

void Run(OpContext& context) {
  const Box box = CropStep(context.attributes()).Of(ShapeOfImages(context));
  MovePlaces(context, box.height, box.width,
             [&](uint64_t) { return MapOfPart(box, box.height, box.width); });
  MoveImages(context, box.height, box.width,
             [&](uint64_t, auto from, auto to, bool) { CopyPixels(from.Crop(box), to); });
}

REGISTER_OPERATOR(crop, Schema, Run);

}  // namespace
}  // namespace millhopper
