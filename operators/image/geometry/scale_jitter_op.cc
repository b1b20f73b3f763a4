// SPDX-License-Identifier: Apache-2.0
// scale_jitter: images in a size that is drawn, in proportion to a target.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "framework/base/attribute.h"
#include "operators/image/geometry/geometric.h"
#include "operators/image/geometry/resized_images.h"
#include "operators/image/image_argument.h"
#include "operators/image/image_draws.h"
#include "operators/image/runs/image_steps.h"

namespace millhopper {
namespace {

struct ScaleJitterStep {
  explicit ScaleJitterStep(const AttributeMap& attributes)
      : target(ImageSizeOf(attributes)), resize(ResizeOf(attributes)) {
    Require(attributes.Get<std::vector<float>>("scale").size() == 2,
            "attribute 'scale' is the lowest and the highest factor");
    scale = RangeAround(attributes, "scale", 1);
    Require(scale.low > 0 && scale.high <= 1000, "attribute 'scale' asks for the range from ",
            scale.low, " to ", scale.high, "; it must lie above 0 and within 1000");
  }

  ImageSize Of(const RandomKey& key, uint64_t i, const ImageShape& shape) const {
    const auto height = static_cast<double>(shape.height), width = static_cast<double>(shape.width);
    const double fits = std::min(static_cast<double>(target.height) / height,
                                 static_cast<double>(target.width) / width);
    return ScaledSize(shape, fits * scale.At(key.Bits(i, 0)));
  }

  ImageSize target;
  Resize resize;
  DrawnRange scale;
};

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
  MoveResizedWhole(context, step.resize, [&](uint64_t i) { return step.Of(key, i, shape); });
}

REGISTER_OPERATOR(scale_jitter, Schema, Run);

}  // namespace
}  // namespace millhopper
