// SPDX-License-Identifier: Apache-2.0
// rand_augment: a few changes of each image, which are drawn.
#include <cstdint>
#include <string>
#include <vector>

#include "framework/base/attribute.h"
#include "operators/image/byte_images.h"
#include "operators/image/image_changes.h"
#include "operators/image/image_sampling.h"
#include "operators/image/timm_changes.h"

namespace millhopper {
namespace {

// What the attributes ask for.
struct RandAugmentStep {
  explicit RandAugmentStep(const AttributeMap& attributes)
      : changes(attributes.Get<int32_t>("num_ops")),
        strength{attributes.Get<int32_t>("magnitude"),
                 attributes.Get<int32_t>("num_magnitude_bins")} {
    Require(changes >= 0 && changes <= 100, "attribute 'num_ops' is ", changes,
            "; it is from 0 to 100");
    const auto [bin, bins] = strength;
    Require(bins >= 2, "attribute 'num_magnitude_bins' is ", bins, "; there are at least 2");
    Require(bin >= 0 && bin < bins, "attribute 'magnitude' is ", bin,
            "; it is from 0 to num_magnitude_bins - 1, which is ", bins - 1);
  }

  int32_t changes;
  Strength strength;
};

OpSchema Schema() {
  return ImageChangesSchema(
             "Changes each image `num_ops` times, each time by one of 14 changes, as torchvision's "
             "RandAugment does. For change j, from 0, draw 2j chooses among: 0 none, 1 shear x, 2 "
             "shear y, 3 translate x, 4 translate y, 5 rotate, 6 brightness, 7 color, 8 contrast, "
             "9 "
             "sharpness, 10 posterize, 11 solarize, 12 autocontrast, 13 equalize. How much is "
             "number `magnitude` of `num_magnitude_bins` numbers: for 1 and 2 from 0 to 0.3, the "
             "tangent of the shear, for 3 and 4 from 0 to 150 / 331 of the side, for 5 from 0 to "
             "30 "
             "degrees counter-clockwise, for 6 to 9 from 0 to 0.9, by which the factor differs "
             "from "
             "1; 1 to 9 are turned to their opposite if draw 2j + 1, below 2, is 1. Posterize "
             "keeps "
             "8 - n bits, n from 0 to 4, rounded, half to even; solarize has a threshold from 255 "
             "to 0.")
      .Attr({"num_ops", int32_t{2}, "changes of each image, from 0 to 100"})
      .Attr({"magnitude", int32_t{9}, "how much, from 0 to num_magnitude_bins - 1"})
      .Attr({"num_magnitude_bins", int32_t{31}, "at least 2"})
      .Attr({"policy", std::string(),
             "a text of timm's, such as 'rand-m9-mstd0.5-inc1', in place of the numbers above: m: "
             "the magnitude, 10 if it is not said; n: changes, 2; p: how likely each is made, 0.5; "
             "mstd: the standard deviation of the magnitude, 0, above 100: it is uniform from 0 to "
             "m; mmax: its most, 10; inc1: changes become stronger with it. Change j of 15 that "
             "timm lists (autocontrast, equalize, invert, rotate, posterize, solarize, "
             "solarize_add, color, contrast, brightness, sharpness, shear x and y, translate x and "
             "y) is chosen by draw 5j, made if draw 5j + 1, in [0, 1), is below p, its magnitude "
             "drawn by 5j + 2 (as by gaussian_noise), turned to its opposite if draw 5j + 3, below "
             "2, is 1. Pixels are moved as by Pillow, by bilinear, or by bicubic if draw 5j + 4, "
             "below 2, is 1, where `interpolation` is nearest, and else as it says; without "
             "`fill` what lies outside is 128. Of Pillow's values colours and tones are off by 2 "
             "at most"})
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        RandAugmentStep{attributes};
        SamplingOf(attributes, -1);
        if (const auto& policy = attributes.Get<std::string>("policy"); !policy.empty()) {
          TimmRandAugment{policy};
        }
      })
      .Infer(InferSameByteImages);
}

void Run(OpContext& context) {
  const ImageShape shape = ShapeOfImages(context);
  RequireWarpable(shape);
  if (const auto& policy = context.Attr<std::string>("policy"); !policy.empty()) {
    return ChangeByTimm(context, TimmRandAugment(policy));
  }
  const RandAugmentStep step(context.attributes());
  const ImageChanger changer(context.attributes(), shape);
  const RandomKey key = ImageKey(context);
  ChangeByteImages(context, [&](const PixelsOf<uint8_t>& image, uint64_t i) {
    for (uint64_t j = 0; j < static_cast<uint64_t>(step.changes); ++j) {
      const auto change = static_cast<Change>(key.Below(kNumberedChanges, i, 2 * j));
      const bool opposite = HasSides(change) && key.Below(2, i, 2 * j + 1) == 1;
      const double amount = RandAugmentAmount(change, step.strength, shape);
      changer.Apply(change, opposite ? -amount : amount, image);
    }
  });
}

REGISTER_OPERATOR(rand_augment, Schema, Run);

}  // namespace
}  // namespace millhopper
