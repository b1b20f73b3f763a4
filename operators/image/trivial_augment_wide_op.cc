// SPDX-License-Identifier: Apache-2.0
// trivial_augment_wide: one change of each image, of any strength.
#include <cstdint>

#include "framework/base/attribute.h"
#include "operators/image/byte_images.h"
#include "operators/image/image_changes.h"
#include "operators/image/image_sampling.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return ImageChangesSchema(
             "Changes each image once, as torchvision's TrivialAugmentWide does. Draw 0 chooses "
             "among the 14 changes of rand_augment, draw 1 which of `num_magnitude_bins` numbers "
             "says how much: for shears from 0 to 0.99, the tangent, for translations from 0 to 32 "
             "pixels, for rotations from 0 to 135 degrees counter-clockwise, for brightness, "
             "color, "
             "contrast and sharpness from 0 to 0.99, by which the factor differs from 1. These are "
             "turned to their opposite if draw 2, below 2, is 1. Posterize keeps 8 - n bits, n "
             "from "
             "0 to 6, rounded, half to even; solarize has a threshold from 255 to 0.")
      .Attr(AttributeSchema("num_magnitude_bins", int32_t{31}, "strengths, at least 2").AtLeast(2))
      .Check(
          [](const proto::OpDesc&, const AttributeMap& attributes) { SamplingOf(attributes, -1); })
      .Infer(InferSameByteImages);
}

double AmountOf(Change change, const Strength& strength) {
  switch (change) {
    case Change::kTranslateX:
    case Change::kTranslateY:
      return strength.Between(0, 32);
    case Change::kRotate:
      return strength.Between(0, 135);
    case Change::kPosterize:
      return strength.BitsLeft(6);
    case Change::kSolarize:
      return strength.Between(255, 0);
    default:
      return strength.Between(0, 0.99);
  }
}

void Run(OpContext& context) {
  const ImageShape shape = ShapeOfImages(context);
  RequireWarpable(shape);
  const auto bins = context.Attr<int32_t>("num_magnitude_bins");
  const ImageChanger changer(context.attributes(), shape);
  const RandomKey key = ImageKey(context);
  ChangeByteImages(context, [&](const PixelsOf<uint8_t>& image, uint64_t i) {
    const auto change = static_cast<Change>(key.Below(kNumberedChanges, i, 0));
    const auto bin = static_cast<int32_t>(key.Below(static_cast<uint64_t>(bins), i, 1));
    const double amount = AmountOf(change, {bin, bins});
    const bool opposite = HasSides(change) && key.Below(2, i, 2) == 1;
    changer.Apply(change, opposite ? -amount : amount, image);
  });
}

REGISTER_OPERATOR(trivial_augment_wide, Schema, Run);

}  // namespace
}  // namespace millhopper
