// SPDX-License-Identifier: Apache-2.0
// solarize: images whose bright values are turned over.
#include "framework/base/attribute.h"
#include "operators/image/byte_images.h"
#include "operators/image/pixels/tones.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return SomeByteImagesSchema(
             "Turns each value v that is at least `threshold` into 255 - v, as torchvision's and "
             "Pillow's solarize do.")
      .Attr({"threshold", 128.0f, "from 0, which turns all values over, to 255"})
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        RequireProbability(attributes);
        const auto threshold = attributes.Get<float>("threshold");
        Require(threshold >= 0 && threshold <= 255, "attribute 'threshold' is ", threshold,
                "; values of pixels are from 0 to 255");
      });
}

void Run(OpContext& context) {
  const float threshold = context.Attr<float>("threshold");
  ChangeSomeByteImages(context,
                       [&](const PixelsOf<uint8_t>& image) { Solarize(threshold, image); });
}

REGISTER_OPERATOR(solarize, Schema, Run);

}  // namespace
}  // namespace millhopper
