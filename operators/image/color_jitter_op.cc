// SPDX-License-Identifier: Apache-2.0
// color_jitter: brightness, contrast, saturation and hue changed at random.
#include "operators/image/byte_images.h"
#include "operators/image/color_factors.h"
#include "operators/image/image_draws.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  OpSchema schema = RandomImageSchema(
      "Changes brightness, contrast, saturation and hue of each image, in an order and by "
      "factors that are drawn, as torchvision's ColorJitter does, with the arithmetic and "
      "the bytes of its functions for uint8 tensors in torchvision.transforms (those of "
      "transforms.v2 round saturation and hue otherwise, by 1): float32, a blend cuts its "
      "fraction off, and hue, which is turned in HSV, goes back to bytes as value * 255.999 "
      "without its fraction. Draws 0, 1, 2 and 3 of an image give the four factors, each "
      "low + (high - low) * u with u in [0, 1) of 53 bits. The order begins as brightness "
      "(0), contrast (1), saturation (2), hue (3); then, for k = 3, 2, 1, place k changes "
      "with the place that draw 7 - k chooses among 0 to k. X is uint8 with 1 or 3 "
      "channels; gray has no saturation and hue.",
      "images with dims and type of X; may be X");
  return WithColorFactors(schema)
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) { ColorFactors{attributes}; })
      .Infer(InferSameByteImages);
}

void Run(OpContext& context) {
  const ColorFactors factors(context.attributes());
  const RandomKey key = ImageKey(context);
  ChangeByteImages(context, [&](const PixelsOf<uint8_t>& image, uint64_t i) {
    for (const size_t which : DrawnOrder<ColorFactors::kCount>(key, i, 4, ColorFactors::kCount)) {
      factors.Apply(which, key.Bits(i, which), image);
    }
  });
}

REGISTER_OPERATOR(color_jitter, Schema, Run);

}  // namespace
}  // namespace millhopper
