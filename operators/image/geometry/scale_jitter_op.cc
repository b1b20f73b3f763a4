// SPDX-License-Identifier: Apache-2.0
// scale_jitter: images in a size that is drawn, in proportion to a target.
#include <cstdint>
#include <vector>

#include "framework/base/attribute.h"
#include "operators/image/geometry/geometric.h"
#include "operators/image/geometry/resized_images.h"
#include "operators/image/image_argument.h"
#include "operators/image/runs/image_steps.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  OpSchema schema = WithDraws(GeometricSchema(
      "Each image in a size that is drawn, as torchvision's ScaleJitter: as large as fits into "
      "`size`, times low + (high - low) * u with u in [0, 1) being 53 bits of draw 0; sides "
      "are rounded down, to 1 at least. Several images of one X must get one size. For the pixels "
      "see resize. (torchvision takes the height of `size` for the width, and its width for the "
      "height; a square has none.)",
      "[N, height, width, C], type of X; may be X"));
  AddSizeAttribute(&schema);
  AddResizeAttributes(&schema);
  return schema.Attr({"scale", std::vector<float>{0.1f, 2.0f}, "the lowest and the highest factor"})
      .Check(
          [](const proto::OpDesc&, const AttributeMap& attributes) { ScaleJitterStep{attributes}; })
      .Infer([](InferContext& context) { InferMoved(context, -1, -1); });
}

void Run(OpContext& context) {
  const ImageShape shape = ShapeOfImages(context);
  const ScaleJitterStep step(context.attributes());
  const RandomKey key = ImageKey(context);
  MoveResizedWhole(context, step.resize, [&](uint64_t i) { return step.Of(shape, key, i); });
}

REGISTER_OPERATOR(scale_jitter, Schema, Run);

}  // namespace
}  // namespace millhopper
