// SPDX-License-Identifier: Apache-2.0
// rand_augment: a few changes of each image, which are drawn.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/base/ref_counted.h"
#include "operators/image/byte_images.h"
#include "operators/image/image_sampling.h"
#include "operators/image/pixels/affine.h"
#include "operators/image/pixels/blur.h"
#include "operators/image/pixels/color.h"
#include "operators/image/pixels/tones.h"

namespace millhopper {
namespace {

// The changes, at the place that a draw gives: the order of RandAugment._augmentation_space in
// torchvision/transforms/autoaugment.py.
enum class Change {
  kIdentity,
  kShearX,
  kShearY,
  kTranslateX,
  kTranslateY,
  kRotate,
  kBrightness,
  kColor,
  kContrast,
  kSharpness,
  kPosterize,
  kSolarize,
  kAutoContrast,
  kEqualize,
};
constexpr uint64_t kChanges = 14;

// What the attributes ask for.
struct AugmentStep {
  explicit AugmentStep(const AttributeMap& attributes)
      : changes(attributes.Get<int32_t>("num_ops")),
        bin(attributes.Get<int32_t>("magnitude")),
        bins(attributes.Get<int32_t>("num_magnitude_bins")) {
    Require(changes >= 0 && changes <= 100, "attribute 'num_ops' is ", changes,
            "; it is from 0 to 100");
    Require(bins >= 2, "attribute 'num_magnitude_bins' is ", bins, "; there are at least 2");
    Require(bin >= 0 && bin < bins, "attribute 'magnitude' is ", bin,
            "; it is from 0 to num_magnitude_bins - 1, which is ", bins - 1);
  }

  // The place `bin` of `bins` numbers from low to high, as torch.linspace has them.
  double Between(double low, double high) const {
    const auto first = static_cast<float>(low);
    const auto last = static_cast<float>(high);
    const float step = (last - first) / static_cast<float>(bins - 1);
    return bin < bins / 2 ? first + step * static_cast<float>(bin)
                          : last - step * static_cast<float>(bins - 1 - bin);
  }

  int PosterizeBits() const {
    const auto width = static_cast<float>(static_cast<double>(bins - 1) / 4);
    return 8 - static_cast<int>(std::lrint(static_cast<float>(bin) / width));
  }

  int32_t changes, bin, bins;
};

OpSchema Schema() {
  OpSchema schema = RandomImageSchema(
      "Changes each image `num_ops` times, each time by one of 14 changes, as torchvision's "
      "RandAugment does. For change j, from 0, draw 2j chooses among: 0 none, 1 shear x, 2 shear "
      "y, 3 translate x, 4 translate y, 5 rotate, 6 brightness, 7 color, 8 contrast, 9 sharpness, "
      "10 posterize, 11 solarize, 12 autocontrast, 13 equalize. How much is number `magnitude` of "
      "`num_magnitude_bins` numbers: for 1 and 2 from 0 to 0.3, the tangent of the shear, for 3 "
      "and 4 from 0 to 150 / 331 of the side, without its fraction, for 5 from 0 to 30 degrees "
      "counter-clockwise, for 6 to 9 from 0 to 0.9, by which the factor differs from 1; 1 to 9 are "
      "turned to their opposite if draw 2j + 1, below 2, is 1. Posterize keeps 8 - n bits, n from "
      "0 to 4, rounded, half to even; solarize has a threshold from 255 to 0. Number k of n from a "
      "to b is a + k * s for k below n / 2 and b - (n - 1 - k) * s above, with s = (b - a) / (n - "
      "1), in float32. Shears keep the upper left corner where it is. For the pixels see affine, "
      "rotate, color_jitter, adjust_sharpness, posterize, solarize, autocontrast and equalize. X "
      "is uint8 with 1 or 3 channels and at most 2^20 pixels each way.",
      "images with dims and type of X; may be X");
  schema.Attr({"num_ops", int32_t{2}, "changes of each image, from 0 to 100"})
      .Attr({"magnitude", int32_t{9}, "how much, from 0 to num_magnitude_bins - 1"})
      .Attr({"num_magnitude_bins", int32_t{31}, "at least 2"});
  return WithSampling(schema)
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        AugmentStep{attributes};
        SamplingOf(attributes, -1);
      })
      .Infer(InferSameByteImages);
}

// Memory of a pool, which is used again.
class PooledPixels final : public RefCounted {
 public:
  std::vector<uint8_t> values;

 private:
  void Dispose() override { Pool<PooledPixels>::Give(this); }
};

class Augmenter {
 public:
  Augmenter(const AttributeMap& attributes, const ImageShape& shape)
      : step_(attributes),
        sampling_(SamplingOf(attributes, shape.channels)),
        shape_(shape),
        before_(Pool<PooledPixels>::Take()) {
    before_->values.resize(static_cast<size_t>(shape.values()));
  }

  void ChangeImage(const RandomKey& key, uint64_t i, const PixelsOf<uint8_t>& image) const {
    for (uint64_t j = 0; j < static_cast<uint64_t>(step_.changes); ++j) {
      const auto change = static_cast<Change>(key.Below(kChanges, i, 2 * j));
      Apply(change, key.Below(2, i, 2 * j + 1) == 1 ? -1.0 : 1.0, image);
    }
  }

 private:
  void Apply(Change change, double sign, const PixelsOf<uint8_t>& image) const {
    switch (change) {
      case Change::kIdentity:
        return;
      case Change::kShearX:
      case Change::kShearY:
      case Change::kTranslateX:
      case Change::kTranslateY:
      case Change::kRotate:
        return Warp(Seen(image), InverseOf(AffineOf(change, sign)), sampling_, image);
      case Change::kBrightness:
        return AdjustBrightness(Factor(sign), image);
      case Change::kColor:
        return AdjustSaturation(Factor(sign), image);
      case Change::kContrast:
        return AdjustContrast(Factor(sign), image);
      case Change::kSharpness:
        return AdjustSharpness(Factor(sign), Seen(image), image);
      case Change::kPosterize:
        return Posterize(step_.PosterizeBits(), image);
      case Change::kSolarize:
        return Solarize(step_.Between(255, 0), image);
      case Change::kAutoContrast:
        return AutoContrast(image);
      case Change::kEqualize:
        return Equalize(image);
    }
  }

  double Factor(double sign) const { return 1.0 + sign * step_.Between(0, 0.9); }

  Affine AffineOf(Change change, double sign) const {
    const auto pixels = [&](int64_t side) {
      return sign * std::trunc(step_.Between(0, 150.0 / 331.0 * static_cast<double>(side)));
    };
    Affine affine;
    if (change == Change::kTranslateX) affine.right = pixels(shape_.width);
    if (change == Change::kTranslateY) affine.down = pixels(shape_.height);
    if (change == Change::kRotate) affine.clockwise = -sign * step_.Between(0, 30);
    if (change == Change::kShearX || change == Change::kShearY) {
      constexpr double kDegrees = 57.29577951308232;  // in a radian
      const double shear = sign * std::atan(step_.Between(0, 0.3)) * kDegrees;
      (change == Change::kShearX ? affine.shear_x : affine.shear_y) = shear;
      affine.centre_x = -static_cast<double>(shape_.width) / 2;
      affine.centre_y = -static_cast<double>(shape_.height) / 2;
    }
    return affine;
  }

  // A copy of the image, for changes that look at other pixels than they write.
  PixelsOf<const uint8_t> Seen(const PixelsOf<uint8_t>& image) const {
    uint8_t* const values = before_->values.data();
    std::copy_n(image.values, shape_.values(), values);
    return Contiguous<const uint8_t>(values, shape_);
  }

  const AugmentStep step_;
  const Sampling sampling_;
  const ImageShape shape_;
  const Ref<PooledPixels> before_;
};

void Run(OpContext& context) {
  const ImageShape shape = ShapeOfImages(context);
  RequireWarpable(shape);
  const Augmenter augmenter(context.attributes(), shape);
  const RandomKey key = ImageKey(context);
  ChangeByteImages(context, [&](const PixelsOf<uint8_t>& image, uint64_t i) {
    augmenter.ChangeImage(key, i, image);
  });
}

REGISTER_OPERATOR(rand_augment, Schema, Run);

}  // namespace
}  // namespace millhopper
