// SPDX-License-Identifier: Apache-2.0
// flip: images mirrored, each with a probability.
#include <algorithm>

#include "framework/base/attribute.h"
#include "operators/image/geometry/geometric.h"
#include "operators/image/image_argument.h"
#include "operators/image/pixels/mirror.h"
#include "operators/image/runs/image_steps.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return WithDraws(
             GeometricSchema("Mirrors each image with probability p: if draw 0, a number in [0, "
                             "1), is below p.",
                             "images with dims and type of X; may be X"))
      .Attr(AttributeSchema("axis", std::string("horizontal"),
                            "horizontal: left becomes right; vertical: top becomes bottom")
                .OneOf({"horizontal", "vertical"}))
      .Attr({"p", 1.0f, "probability, from 0 to 1"})
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        const float p = attributes.Get<float>("p");
        Require(p >= 0 && p <= 1, "attribute 'p' is ", p, "; a probability is from 0 to 1");
      })
      .Infer([](InferContext& context) {
        const Dims dims = InferImages(context);
        InferMoved(context, dims[1], dims[2]);
      });
}

void Run(OpContext& context) {
  const ImageShape shape = ShapeOfImages(context);
  const FlipStep step(context.attributes());
  const RandomKey key = ImageKey(context);
  MovePlaces(context, shape.height, shape.width, [&](uint64_t i) {
    PlaceMap map;
    if (!step.Draw(key, i)) return map;
    (step.horizontal ? map.xx : map.yy) = -1;
    (step.horizontal ? map.x0 : map.y0) =
        static_cast<double>(step.horizontal ? shape.width : shape.height);
    return map;
  });
  MoveImages(context, shape.height, shape.width, [&](uint64_t i, auto from, auto to, bool) {
    const bool flip = step.Draw(key, i);
    for (int64_t y = 0; y < shape.height; ++y) {
      if (flip && step.horizontal) {
        MirrorRow(from.row(y), shape.width, from.shape.channels, to.row(y));
      } else {
        std::copy_n(from.row(flip ? shape.height - 1 - y : y), shape.width * from.shape.channels,
                    to.row(y));
      }
    }
  });
}

REGISTER_OPERATOR(flip, Schema, Run);

}  // namespace
}  // namespace millhopper
