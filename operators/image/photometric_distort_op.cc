// SPDX-License-Identifier: Apache-2.0
// photometric_distort: colours changed at random, as for SSD.
#include "framework/base/attribute.h"
#include "operators/image/byte_images.h"
#include "operators/image/color_factors.h"
#include "operators/image/image_draws.h"
#include "operators/image/pixels/channels.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  OpSchema schema = RandomImageSchema(
      "Changes brightness, contrast, saturation and hue of each image, and the order of its "
      "channels, each with probability p, as torchvision's RandomPhotometricDistort does (Source: "
      "Liu et al., \"SSD: Single Shot MultiBox Detector\", 2016), with the arithmetic of "
      "color_jitter. Brightness is changed if draw 0, a number in [0, 1) of 24 bits, is below p, "
      "by the factor low + (high - low) * u, u in [0, 1) being 53 bits of draw 1; contrast by "
      "draws 2 and 3, saturation by 4 and 5, hue by 6 and 7. Contrast is changed before "
      "saturation if draw 8 is below 1/2, else after hue. The channels are ordered anew if draw "
      "9 is below p: for k = 2, 1, channel k changes with the one that draw 12 - k chooses among "
      "0 to k. X is uint8 with 1 or 3 channels; gray has brightness and contrast.",
      "images with dims and type of X; may be X");
  return WithColorFactors(schema, {{{0.875f, 1.125f}, {0.5f, 1.5f}, {0.5f, 1.5f}, {-0.05f, 0.05f}}})
      .Attr({"p", 0.5f, "probability of each change, from 0 to 1"})
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        ColorFactors{attributes};
        RequireProbability(attributes);
      })
      .Infer(InferSameByteImages);
}

void Run(OpContext& context) {
  using Factors = ColorFactors;
  const Factors factors(context.attributes());
  const float p = context.Attr<float>("p");
  const RandomKey key = ImageKey(context);
  ChangeByteImages(context, [&](const PixelsOf<uint8_t>& image, uint64_t i) {
    const auto change = [&](size_t which) {
      if (!(ToUnitFloat(key.Bits(i, 2 * which)) < p)) return;
      factors.Apply(which, key.Bits(i, 2 * which + 1), image);
    };
    const bool contrast_first = ToUnitFloat(key.Bits(i, 8)) < 0.5f;
    change(Factors::kBrightness);
    if (contrast_first) change(Factors::kContrast);
    change(Factors::kSaturation);
    change(Factors::kHue);
    if (!contrast_first) change(Factors::kContrast);
    if (image.shape.channels == 3 && ToUnitFloat(key.Bits(i, 9)) < p) {
      PermuteChannels<uint8_t>(DrawnOrder<kMostChannels>(key, i, 10, 3),
                               {image.values, image.shape, image.row_stride}, image);
    }
  });
}

REGISTER_OPERATOR(photometric_distort, Schema, Run);

}  // namespace
}  // namespace millhopper
