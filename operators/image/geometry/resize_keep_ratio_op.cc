// SPDX-License-Identifier: Apache-2.0
// resize_keep_ratio: images that fill a size or fit into it, with some noise.
#include <cstdint>
#include <vector>

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
      "Each image in another size of its proportions, as timm's ResizeKeepRatio: with `longest` 0 "
      "as small as fills `size`, with 1 as large as fits into it, and between in proportion. If "
      "draw 0, a number in [0, 1) of 24 bits, is below `scale_p`, sides are multiplied by a factor "
      "s = low + (high - low) * u, u in [0, 1) being 53 bits of draw 1, or with `scale_area` by 1 "
      "/ sqrt(s). If draw 2 is below `aspect_p`, height is divided and width multiplied by "
      "sqrt(a), a from the lowest to the highest of `aspect` by draw 3, uniform in its logarithm. "
      "Sides are rounded, half to even, to 1 at least. Several images of one X must get one size. "
      "For the pixels see resize.",
      "[N, height, width, C], type of X; may be X"));
  AddSizeAttribute(&schema);
  AddResizeAttributes(&schema);
  return schema.Attr({"longest", 0.0f, "0: the size is filled; 1: images fit into it"})
      .Attr({"scale_p", 0.0f, "the probability of a factor"})
      .Attr({"scale", Floats{0.85f, 1.05f}, "the lowest and the highest factor"})
      .Attr({"scale_area", false, "whether the factor is of the area of which the size is made"})
      .Attr({"aspect_p", 0.0f, "the probability of other proportions"})
      .Attr({"aspect", Floats{0.9f, 1.11f}, "the lowest and the highest factor of proportions"})
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        ResizeKeepRatioStep{attributes};
      })
      .Infer([](InferContext& context) { InferMoved(context, -1, -1); });
}

void Run(OpContext& context) {
  const ImageShape shape = ShapeOfImages(context);
  const ResizeKeepRatioStep step(context.attributes());
  const RandomKey key = ImageKey(context);
  MoveResizedWhole(context, step.resize, [&](uint64_t i) { return step.Of(shape, key, i); });
}

REGISTER_OPERATOR(resize_keep_ratio, Schema, Run);

}  // namespace
}  // namespace millhopper
