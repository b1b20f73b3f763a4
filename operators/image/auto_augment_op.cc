// SPDX-License-Identifier: Apache-2.0
// auto_augment: two changes of each image, by a policy that was learned.
#include <cstdint>
#include <string>

#include "framework/base/attribute.h"
#include "operators/image/byte_images.h"
#include "operators/image/image_changes.h"
#include "operators/image/image_sampling.h"
#include "operators/image/timm_changes.h"

namespace millhopper {
namespace {

// A change, how likely it is, in tenths, and how strong, of 10 strengths.
struct LikelyChange {
  Change change;
  int32_t tenths, bin;
};

// Two changes, one after the other.
struct Policy {
  LikelyChange changes[2];
};
constexpr uint64_t kPolicies = 25;

// Source: Cubuk et al., AutoAugment: Learning Augmentation Policies from Data, tables 7 to 9, as
// torchvision has them.
constexpr Policy kImageNet[kPolicies] = {
    {{{Change::kPosterize, 4, 8}, {Change::kRotate, 6, 9}}},
    {{{Change::kSolarize, 6, 5}, {Change::kAutoContrast, 6, 0}}},
    {{{Change::kEqualize, 8, 0}, {Change::kEqualize, 6, 0}}},
    {{{Change::kPosterize, 6, 7}, {Change::kPosterize, 6, 6}}},
    {{{Change::kEqualize, 4, 0}, {Change::kSolarize, 2, 4}}},
    {{{Change::kEqualize, 4, 0}, {Change::kRotate, 8, 8}}},
    {{{Change::kSolarize, 6, 3}, {Change::kEqualize, 6, 0}}},
    {{{Change::kPosterize, 8, 5}, {Change::kEqualize, 10, 0}}},
    {{{Change::kRotate, 2, 3}, {Change::kSolarize, 6, 8}}},
    {{{Change::kEqualize, 6, 0}, {Change::kPosterize, 4, 6}}},
    {{{Change::kRotate, 8, 8}, {Change::kColor, 4, 0}}},
    {{{Change::kRotate, 4, 9}, {Change::kEqualize, 6, 0}}},
    {{{Change::kEqualize, 0, 0}, {Change::kEqualize, 8, 0}}},
    {{{Change::kInvert, 6, 0}, {Change::kEqualize, 10, 0}}},
    {{{Change::kColor, 6, 4}, {Change::kContrast, 10, 8}}},
    {{{Change::kRotate, 8, 8}, {Change::kColor, 10, 2}}},
    {{{Change::kColor, 8, 8}, {Change::kSolarize, 8, 7}}},
    {{{Change::kSharpness, 4, 7}, {Change::kInvert, 6, 0}}},
    {{{Change::kShearX, 6, 5}, {Change::kEqualize, 10, 0}}},
    {{{Change::kColor, 4, 0}, {Change::kEqualize, 6, 0}}},
    {{{Change::kEqualize, 4, 0}, {Change::kSolarize, 2, 4}}},
    {{{Change::kSolarize, 6, 5}, {Change::kAutoContrast, 6, 0}}},
    {{{Change::kInvert, 6, 0}, {Change::kEqualize, 10, 0}}},
    {{{Change::kColor, 6, 4}, {Change::kContrast, 10, 8}}},
    {{{Change::kEqualize, 8, 0}, {Change::kEqualize, 6, 0}}}};
constexpr Policy kCifar10[kPolicies] = {
    {{{Change::kInvert, 1, 0}, {Change::kContrast, 2, 6}}},
    {{{Change::kRotate, 7, 2}, {Change::kTranslateX, 3, 9}}},
    {{{Change::kSharpness, 8, 1}, {Change::kSharpness, 9, 3}}},
    {{{Change::kShearY, 5, 8}, {Change::kTranslateY, 7, 9}}},
    {{{Change::kAutoContrast, 5, 0}, {Change::kEqualize, 9, 0}}},
    {{{Change::kShearY, 2, 7}, {Change::kPosterize, 3, 7}}},
    {{{Change::kColor, 4, 3}, {Change::kBrightness, 6, 7}}},
    {{{Change::kSharpness, 3, 9}, {Change::kBrightness, 7, 9}}},
    {{{Change::kEqualize, 6, 0}, {Change::kEqualize, 5, 0}}},
    {{{Change::kContrast, 6, 7}, {Change::kSharpness, 6, 5}}},
    {{{Change::kColor, 7, 7}, {Change::kTranslateX, 5, 8}}},
    {{{Change::kEqualize, 3, 0}, {Change::kAutoContrast, 4, 0}}},
    {{{Change::kTranslateY, 4, 3}, {Change::kSharpness, 2, 6}}},
    {{{Change::kBrightness, 9, 6}, {Change::kColor, 2, 8}}},
    {{{Change::kSolarize, 5, 2}, {Change::kInvert, 0, 0}}},
    {{{Change::kEqualize, 2, 0}, {Change::kAutoContrast, 6, 0}}},
    {{{Change::kEqualize, 2, 0}, {Change::kEqualize, 6, 0}}},
    {{{Change::kColor, 9, 9}, {Change::kEqualize, 6, 0}}},
    {{{Change::kAutoContrast, 8, 0}, {Change::kSolarize, 2, 8}}},
    {{{Change::kBrightness, 1, 3}, {Change::kColor, 7, 0}}},
    {{{Change::kSolarize, 4, 5}, {Change::kAutoContrast, 9, 0}}},
    {{{Change::kTranslateY, 9, 9}, {Change::kTranslateY, 7, 9}}},
    {{{Change::kAutoContrast, 9, 0}, {Change::kSolarize, 8, 3}}},
    {{{Change::kEqualize, 8, 0}, {Change::kInvert, 1, 0}}},
    {{{Change::kTranslateY, 7, 9}, {Change::kAutoContrast, 9, 0}}}};
constexpr Policy kSvhn[kPolicies] = {{{{Change::kShearX, 9, 4}, {Change::kInvert, 2, 0}}},
                                     {{{Change::kShearY, 9, 8}, {Change::kInvert, 7, 0}}},
                                     {{{Change::kEqualize, 6, 0}, {Change::kSolarize, 6, 6}}},
                                     {{{Change::kInvert, 9, 0}, {Change::kEqualize, 6, 0}}},
                                     {{{Change::kEqualize, 6, 0}, {Change::kRotate, 9, 3}}},
                                     {{{Change::kShearX, 9, 4}, {Change::kAutoContrast, 8, 0}}},
                                     {{{Change::kShearY, 9, 8}, {Change::kInvert, 4, 0}}},
                                     {{{Change::kShearY, 9, 5}, {Change::kSolarize, 2, 6}}},
                                     {{{Change::kInvert, 9, 0}, {Change::kAutoContrast, 8, 0}}},
                                     {{{Change::kEqualize, 6, 0}, {Change::kRotate, 9, 3}}},
                                     {{{Change::kShearX, 9, 4}, {Change::kSolarize, 3, 3}}},
                                     {{{Change::kShearY, 8, 8}, {Change::kInvert, 7, 0}}},
                                     {{{Change::kEqualize, 9, 0}, {Change::kTranslateY, 6, 6}}},
                                     {{{Change::kInvert, 9, 0}, {Change::kEqualize, 6, 0}}},
                                     {{{Change::kContrast, 3, 3}, {Change::kRotate, 8, 4}}},
                                     {{{Change::kInvert, 8, 0}, {Change::kTranslateY, 0, 2}}},
                                     {{{Change::kShearY, 7, 6}, {Change::kSolarize, 4, 8}}},
                                     {{{Change::kInvert, 6, 0}, {Change::kRotate, 8, 4}}},
                                     {{{Change::kShearY, 3, 7}, {Change::kTranslateX, 9, 3}}},
                                     {{{Change::kShearX, 1, 6}, {Change::kInvert, 6, 0}}},
                                     {{{Change::kSolarize, 7, 2}, {Change::kTranslateY, 6, 7}}},
                                     {{{Change::kShearY, 8, 4}, {Change::kInvert, 8, 0}}},
                                     {{{Change::kShearX, 7, 9}, {Change::kTranslateY, 8, 3}}},
                                     {{{Change::kShearY, 8, 5}, {Change::kAutoContrast, 7, 0}}},
                                     {{{Change::kShearX, 7, 2}, {Change::kInvert, 1, 0}}}};

const Policy* PoliciesOf(const std::string& policy) {
  if (policy == "imagenet") return kImageNet;
  if (policy == "cifar10") return kCifar10;
  Require(policy == "svhn", "attribute 'policy' is '", policy,
          "'; it is 'imagenet', 'cifar10', 'svhn', or of timm 'original', 'originalr', 'v0' or "
          "'v0r'");
  return kSvhn;
}

OpSchema Schema() {
  return ImageChangesSchema(
             "Changes each image by one of 25 pairs of changes, as torchvision's AutoAugment does. "
             "Draw 0 chooses the pair. Change j of it, 0 or 1, is made if draw 1 + 2j, a number in "
             "[0, 1) of 24 bits, is below its probability, and turned to its opposite, if it has "
             "one, if draw 2 + 2j, below 2, is 1. How much is one of 10 numbers, between the "
             "limits "
             "that rand_augment has.")
      .Attr({"policy", std::string("imagenet"),
             "the data for which the pairs were learned, imagenet, cifar10 or svhn; or one of "
             "timm's policies, original, originalr, v0 or v0r, also with mstd, the standard "
             "deviation of magnitudes, as 'original-mstd0.5'. Of these, change j is made if draw 1 "
             "+ 4j, in [0, 1), is below its probability, its magnitude drawn by 2 + 4j, turned to "
             "its opposite if 3 + 4j, below 2, is 1, and pixels are moved as rand_augment does for "
             "timm's policies, by bicubic if 4 + 4j is 1"})
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        SamplingOf(attributes, -1);
        const auto& policy = attributes.Get<std::string>("policy");
        if (TimmAutoAugment::IsMeant(policy)) {
          TimmAutoAugment{policy};
        } else {
          PoliciesOf(policy);
        }
      })
      .Infer(InferSameByteImages);
}

void Run(OpContext& context) {
  constexpr int32_t kStrengths = 10;
  const ImageShape shape = ShapeOfImages(context);
  RequireWarpable(shape);
  const auto& policy_name = context.Attr<std::string>("policy");
  if (TimmAutoAugment::IsMeant(policy_name)) {
    return ChangeByTimm(context, TimmAutoAugment(policy_name));
  }
  const Policy* const policies = PoliciesOf(policy_name);
  const ImageChanger changer(context.attributes(), shape);
  const RandomKey key = ImageKey(context);
  ChangeByteImages(context, [&](const PixelsOf<uint8_t>& image, uint64_t i) {
    const Policy& policy = policies[key.Below(kPolicies, i, 0)];
    for (uint64_t j = 0; j < 2; ++j) {
      const auto& [change, tenths, bin] = policy.changes[j];
      if (ToUnitFloat(key.Bits(i, 1 + 2 * j)) >= static_cast<float>(tenths) / 10) continue;
      const double amount = RandAugmentAmount(change, {bin, kStrengths}, shape);
      const bool opposite = HasSides(change) && key.Below(2, i, 2 + 2 * j) == 1;
      changer.Apply(change, opposite ? -amount : amount, image);
    }
  });
}

REGISTER_OPERATOR(auto_augment, Schema, Run);

}  // namespace
}  // namespace millhopper
