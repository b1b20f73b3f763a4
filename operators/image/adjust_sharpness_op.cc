// SPDX-License-Identifier: Apache-2.0
// adjust_sharpness: images made sharper or softer.
#include <cmath>

#include "framework/base/attribute.h"
#include "operators/image/byte_images.h"
#include "operators/image/pixels/blur.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return SomeByteImagesSchema(
             "Makes images sharper or softer: value v becomes factor * v + (1 - factor) * s in "
             "float32, held between 0 and 255, without its fraction. s is the mean of the nine "
             "pixels around v, v itself counted five times, rounded; for pixels at the edges, and "
             "in images with at most two pixels either way, v stays. That is the arithmetic of "
             "adjust_sharpness for uint8 tensors in torchvision.transforms, with the same bytes "
             "(that of transforms.v2 differs by 1 in 2 of 100 values).")
      .Attr(AttributeSchema("factor", 0.0f,
                            "at least 0: 0 is soft, 1 changes nothing, 2 is twice as sharp")
                .Required())
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        RequireProbability(attributes);
        const auto factor = attributes.Get<float>("factor");
        Require(factor >= 0 && std::isfinite(factor), "attribute 'factor' is ", factor,
                "; it is at least 0 and finite");
      });
}

void Run(OpContext& context) {
  const float factor = context.Attr<float>("factor");
  MapSomeByteImages(context, [&](const PixelsOf<const uint8_t>& from, const PixelsOf<uint8_t>& to) {
    AdjustSharpness(factor, from, to);
  });
}

REGISTER_OPERATOR(adjust_sharpness, Schema, Run);

}  // namespace
}  // namespace millhopper
