// SPDX-License-Identifier: Apache-2.0
// resize: images in another size.
#include "framework/base/attribute.h"
#include "operators/image/geometry/geometric.h"
#include "operators/image/geometry/resized_images.h"
#include "operators/image/image_argument.h"
#include "operators/image/runs/image_steps.h"

namespace millhopper {
namespace {

using Ints = std::vector<int32_t>;

OpSchema Schema() {
  OpSchema schema = GeometricSchema(
      "Each image in another size. uint8 is computed as by Pillow up to 12 and gives the same "
      "values, also of images with 2 or 4 channels: unless the interpolation is nearest or the "
      "size stays, the other channels are weighed by alpha, the last one. (Pillow 13 takes the "
      "columns first where that costs less: then up to 1 of 200 values differ, by 1, at hard edges "
      "under bicubic and lanczos by up to 9, and by more where alpha is low.) uint16 and float32 "
      "are computed in double, each channel by itself, and rounded once along the rows and once "
      "along the columns: uint16 to whole numbers that it holds, as Pillow's I;16 is, but nearest "
      "takes the pixels that it takes of uint8.",
      "[N, height, width, C], type of X; may be X");
  schema
      .Attr(AttributeSchema("size", Ints{},
                            "[height, width], or the length of one side: then the other one keeps "
                            "the proportions, rounded down, as with torchvision")
                .Required()
                .AtLeast(1))
      .Attr(AttributeSchema("side", std::string("short"), "the side whose length is given")
                .OneOf({"short", "long"}))
      .Attr(AttributeSchema("max_size", int32_t{0},
                            "the most of the longer side where the length of the short one is "
                            "given, which is less then; 0: any")
                .AtLeast(0));
  AddResizeAttributes(&schema);
  return schema
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) { ResizeStep{attributes}; })
      .Infer([](InferContext& context) {
        const Dims dims = InferImages(context);
        const ResizeStep step(context.attributes());
        const bool known = step.size.size() == 2 || (dims[1] > 0 && dims[2] > 0);
        const Resize resize = known ? step.Of({dims[1], dims[2], 1}) : Resize{-1, -1};
        InferMoved(context, resize.height, resize.width);
      });
}

void Run(OpContext& context) {
  const ImageShape shape = ShapeOfImages(context);
  const Resize resize = ResizeStep(context.attributes()).Of(shape);
  MoveResized(context, resize, [&](uint64_t) { return Box{0, 0, shape.width, shape.height}; });
}

REGISTER_OPERATOR(resize, Schema, Run);

}  // namespace
}  // namespace millhopper
