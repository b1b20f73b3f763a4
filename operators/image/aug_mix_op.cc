// SPDX-License-Identifier: Apache-2.0
// aug_mix: images mixed with several chains of changes of themselves.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/base/ref_counted.h"
#include "operators/image/byte_images.h"
#include "operators/image/image_changes.h"
#include "operators/image/image_draws.h"
#include "operators/image/image_sampling.h"

namespace millhopper {
namespace {

constexpr int32_t kStrengths = 10;
constexpr int32_t kMostChains = 20, kMostChanges = 20;
constexpr uint64_t kDrawsOfChain = 64;
constexpr Change kChanges[] = {
    Change::kShearX,    Change::kShearY,     Change::kTranslateX, Change::kTranslateY,
    Change::kRotate,    Change::kPosterize,  Change::kSolarize,   Change::kAutoContrast,
    Change::kEqualize,  Change::kBrightness, Change::kColor,      Change::kContrast,
    Change::kSharpness,
};
constexpr uint64_t kAllChanges = 13, kChangesOfPaper = 9;

// How much a change of this strength is.
double AmountOf(Change change, const Strength& strength, const ImageShape& shape) {
  const auto third = [](int64_t side) { return static_cast<double>(side) / 3; };
  if (change == Change::kTranslateX) return strength.Between(0, third(shape.width));
  if (change == Change::kTranslateY) return strength.Between(0, third(shape.height));
  if (change == Change::kPosterize) return strength.BitsLeft(4) - 4;
  return RandAugmentAmount(change, strength, shape);
}

struct AugMixStep {
  explicit AugMixStep(const AttributeMap& attributes)
      : severity(attributes.Get<int32_t>("severity")),
        width(attributes.Get<int32_t>("mixture_width")),
        depth(attributes.Get<int32_t>("chain_depth")),
        alpha(attributes.Get<float>("alpha")),
        changes(attributes.Get<bool>("all_ops") ? kAllChanges : kChangesOfPaper) {
    RequireAlpha(attributes);
    Require(severity >= 1 && severity <= kStrengths, "attribute 'severity' is ", severity,
            "; it is from 1 to ", kStrengths);
    Require(width >= 1 && width <= kMostChains, "attribute 'mixture_width' is ", width,
            "; it is from 1 to ", kMostChains);
    Require(depth <= kMostChanges, "attribute 'chain_depth' is ", depth, "; it is ", kMostChanges,
            " at most");
  }

  // What the image and its chains count, which is 1 together: a and b of Beta divide it among the
  // image and all chains, Dirichlet among these.
  std::array<float, kMostChains + 1> Shares(const RandomKey& key) const {
    std::array<double, kMostChains + 2> logs{};
    const auto draw = [&](size_t first, size_t count) {
      for (size_t k = first; k < first + count; ++k) logs[k] = LogGammaOf(key, k, alpha);
      const double most = *std::max_element(&logs[first], &logs[first] + count);
      double sum = 0;
      for (size_t k = first; k < first + count; ++k) sum += logs[k] = std::exp(logs[k] - most);
      for (size_t k = first; k < first + count; ++k) logs[k] /= sum;
    };
    draw(0, 2);
    draw(2, static_cast<size_t>(width));
    std::array<float, kMostChains + 1> shares{static_cast<float>(logs[0])};
    for (size_t k = 0; k < static_cast<size_t>(width); ++k) {
      shares[k + 1] = static_cast<float>(logs[k + 2]) * static_cast<float>(logs[1]);
    }
    return shares;
  }

  // Changes an image as chain `chain` of image i.
  void Change(const RandomKey& key, uint64_t i, uint64_t chain, const ImageChanger& changer,
              const PixelsOf<uint8_t>& image) const {
    uint64_t draw = chain * kDrawsOfChain;
    const auto count = depth > 0 ? static_cast<uint64_t>(depth) : 1 + key.Below(3, i, draw);
    for (uint64_t j = 0; j < count; ++j) {
      const millhopper::Change change = kChanges[key.Below(changes, i, ++draw)];
      const auto bin = static_cast<int32_t>(key.Below(static_cast<uint64_t>(severity), i, ++draw));
      const bool opposite = HasSides(change) && key.Below(2, i, draw + 1) == 1;
      ++draw;
      const double amount = AmountOf(change, {bin, kStrengths}, image.shape);
      changer.Apply(change, opposite ? -amount : amount, image);
    }
  }

  int32_t severity, width, depth;
  double alpha;
  uint64_t changes;
};

OpSchema Schema() {
  return ImageChangesSchema(
             "Mixes each image with several chains of changes of itself, as torchvision's AugMix "
             "does (Source: Hendrycks et al., \"AugMix: A Simple Data Processing Method to Improve "
             "Robustness and Uncertainty\", 2020). The image counts m, all chains 1 - m, which is "
             "Beta(alpha, alpha), divided among the chains by Dirichlet(alpha, ..., alpha): these "
             "are made of numbers of Gamma(alpha) of a key of image i's own, 0 and 1 for m, 2 and "
             "up for the chains (mixup says how). Chain c, from 0, draws from 64c on: first how "
             "many changes, 1 to 3, if `chain_depth` is below 1; then for each change which one "
             "(0 shear x, 1 shear y, 2 translate x, 3 translate y, 4 rotate, 5 posterize, 6 "
             "solarize, 7 autocontrast, 8 equalize, 9 brightness, 10 color, 11 contrast, 12 "
             "sharpness), which of the first `severity` of 10 numbers says how much (as in "
             "rand_augment, but up to a third of the side for translations, and posterize keeps 4 "
             "- n bits), and, below 2, whether it is turned to its opposite. Sums are in float32, "
             "the image first, and their fraction is cut off.")
      .Attr({"severity", int32_t{3}, "strengths that are drawn from, 1 to 10"})
      .Attr({"mixture_width", int32_t{3}, "chains, 1 to 20"})
      .Attr({"chain_depth", int32_t{-1}, "changes of a chain, up to 20; below 1: 1 to 3 are drawn"})
      .Attr({"alpha", 1.0f, "of the Beta and the Dirichlet distribution, from 0.001 to 1000"})
      .Attr({"all_ops", true, "whether changes 9 to 12 are among them, which the paper leaves out"})
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        AugMixStep{attributes};
        SamplingOf(attributes, -1);
      })
      .Infer(InferSameByteImages);
}

// Memory of a pool, which is used again.
class MixedImage final : public RefCounted {
 public:
  std::vector<uint8_t> changed;
  std::vector<float> sum;

 private:
  void Dispose() override { Pool<MixedImage>::Give(this); }
};

void Run(OpContext& context) {
  const ImageShape shape = ShapeOfImages(context);
  RequireWarpable(shape);
  const AugMixStep step(context.attributes());
  const ImageChanger changer(context.attributes(), shape);
  const RandomKey key = ImageKey(context);
  const Ref<MixedImage> mixed = Pool<MixedImage>::Take();
  mixed->changed.resize(static_cast<size_t>(shape.values()));
  mixed->sum.resize(mixed->changed.size());
  const PixelsOf<uint8_t> changed = Contiguous(mixed->changed.data(), shape);
  float* const sum = mixed->sum.data();
  MapByteImages(context, shape.channels,
                [&](const PixelsOf<const uint8_t>& from, const PixelsOf<uint8_t>& to, uint64_t i) {
                  const int64_t values = shape.values();
                  const auto shares = step.Shares(key.OfPart(i));
                  for (int64_t v = 0; v < values; ++v) {
                    sum[v] = shares[0] * static_cast<float>(from.values[v]);
                  }
                  for (size_t chain = 0; chain < static_cast<size_t>(step.width); ++chain) {
                    CopyPixels(from, changed);
                    step.Change(key, i, chain, changer, changed);
                    const float share = shares[chain + 1];
                    for (int64_t v = 0; v < values; ++v) {
                      sum[v] += share * static_cast<float>(changed.values[v]);
                    }
                  }
                  for (int64_t v = 0; v < values; ++v) {
                    to.values[v] = static_cast<uint8_t>(std::min(sum[v], 255.0f));
                  }
                });
}

REGISTER_OPERATOR(aug_mix, Schema, Run);

}  // namespace
}  // namespace millhopper
