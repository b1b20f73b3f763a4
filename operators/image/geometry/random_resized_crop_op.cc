// SPDX-License-Identifier: Apache-2.0
// random_resized_crop: a part of each image, of random size and place, in one size.
#include "framework/base/attribute.h"
#include "operators/image/geometry/geometric.h"
#include "operators/image/geometry/resized_images.h"
#include "operators/image/image_argument.h"
#include "operators/image/runs/image_steps.h"

namespace millhopper {
namespace {

using Floats = std::vector<float>;

OpSchema Schema() {
  OpSchema schema = WithDraws(GeometricSchema(
      "A part of each image, of random size and place, resized as by `resize`: torchvision's "
      "RandomResizedCrop. Attempt k of 10 takes draw 4k for its area, uniform in `scale`, draw "
      "4k + 1 for the logarithm of its ratio of width to height, uniform in that of `ratio`, and, "
      "if it fits into the image, draws 4k + 2 and 4k + 3, below the numbers of possible places, "
      "for its first row and column. If none fits, it is the largest part in the middle whose "
      "ratio is allowed.",
      "[N, size[0], size[1], C], type of X; may be X"));
  AddSizeAttribute(&schema);
  AddResizeAttributes(&schema);
  return schema
      .Attr({"scale", Floats{0.08f, 1.0f}, "the lowest and the highest share of the image's area"})
      .Attr({"ratio", Floats{3.0f / 4, 4.0f / 3}, "the lowest and the highest width over height"})
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        RandomResizedCropStep{attributes};
      })
      .Infer([](InferContext& context) {
        const Resize resize = RandomResizedCropStep(context.attributes()).resize;
        InferMoved(context, resize.height, resize.width);
      });
}

void Run(OpContext& context) {
  const ImageShape shape = ShapeOfImages(context);
  const RandomResizedCropStep step(context.attributes());
  const RandomKey key = ImageKey(context);
  MoveResized(context, step.resize, [&](uint64_t i) { return step.Of(shape, key, i); });
}

REGISTER_OPERATOR(random_resized_crop, Schema, Run);

}  // namespace
}  // namespace millhopper
