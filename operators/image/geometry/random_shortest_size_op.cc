// SPDX-License-Identifier: Apache-2.0
// random_shortest_size: images whose shorter side has one of several lengths.
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
      "Each image so that its shorter side has one of several lengths, as torchvision's "
      "RandomShortestSize: draw 0 chooses among `min_size`; the longer side is `max_size` at most, "
      "and then the shorter one less. Sides are rounded down, to 1 at least. Several images of "
      "one X must get one size. For the pixels see resize.",
      "[N, height, width, C], type of X; may be X"));
  AddResizeAttributes(&schema);
  return schema
      .Attr(AttributeSchema("min_size", std::vector<int32_t>{},
                            "lengths of the shorter side, each equally likely")
                .Required()
                .AtLeast(1))
      .Attr(
          AttributeSchema("max_size", int32_t{0}, "the most of the longer side; 0: any").AtLeast(0))
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        RandomShortestSizeStep{attributes};
      })
      .Infer([](InferContext& context) { InferMoved(context, -1, -1); });
}

void Run(OpContext& context) {
  const ImageShape shape = ShapeOfImages(context);
  const RandomShortestSizeStep step(context.attributes());
  const RandomKey key = ImageKey(context);
  MoveResizedWhole(context, step.resize, [&](uint64_t i) { return step.Of(shape, key, i); });
}

REGISTER_OPERATOR(random_shortest_size, Schema, Run);

}  // namespace
}  // namespace millhopper
