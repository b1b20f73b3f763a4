// SPDX-License-Identifier: Apache-2.0
#include "operators/image/image_changes.h"

#include <algorithm>
#include <cmath>

#include "operators/image/image_argument.h"
#include "operators/image/image_sampling.h"
#include "operators/image/pixels/blur.h"
#include "operators/image/pixels/color.h"
#include "operators/image/pixels/tones.h"

namespace millhopper {

double Strength::Between(double low, double high) const {
  const auto first = static_cast<float>(low);
  const auto last = static_cast<float>(high);
  const float step = (last - first) / static_cast<float>(bins - 1);
  return bin < bins / 2 ? first + step * static_cast<float>(bin)
                        : last - step * static_cast<float>(bins - 1 - bin);
}

double Strength::BitsLeft(double most) const {
  const auto width = static_cast<float>(static_cast<double>(bins - 1) / most);
  return 8 - static_cast<double>(std::lrint(static_cast<float>(bin) / width));
}

double RandAugmentAmount(Change change, const Strength& strength, const ImageShape& shape) {
  const auto part = [](int64_t side) { return 150.0 / 331.0 * static_cast<double>(side); };
  switch (change) {
    case Change::kShearX:
    case Change::kShearY:
      return strength.Between(0, 0.3);
    case Change::kTranslateX:
      return strength.Between(0, part(shape.width));
    case Change::kTranslateY:
      return strength.Between(0, part(shape.height));
    case Change::kRotate:
      return strength.Between(0, 30);
    case Change::kPosterize:
      return strength.BitsLeft(4);
    case Change::kSolarize:
      return strength.Between(255, 0);
    default:
      return strength.Between(0, 0.9);
  }
}

ImageChanger::ImageChanger(const AttributeMap& attributes, const ImageShape& shape)
    : ImageChanger(SamplingOf(attributes, shape.channels), shape) {}

ImageChanger::ImageChanger(const Sampling& sampling, const ImageShape& shape)
    : sampling_(sampling), shape_(shape), before_(Pool<PooledPixels>::Take()) {
  before_->values.resize(static_cast<size_t>(shape.values()));
}

void ImageChanger::Apply(Change change, double amount, const PixelsOf<uint8_t>& image) const {
  switch (change) {
    case Change::kIdentity:
      return;
    case Change::kShearX:
    case Change::kShearY:
    case Change::kTranslateX:
    case Change::kTranslateY:
    case Change::kRotate:
      return Warp(Seen(image), InverseOf(AffineOf(change, amount)), sampling_, image);
    case Change::kBrightness:
      return AdjustBrightness(1 + amount, image);
    case Change::kColor:
      return AdjustSaturation(1 + amount, image);
    case Change::kContrast:
      return AdjustContrast(1 + amount, image);
    case Change::kSharpness:
      return AdjustSharpness(1 + amount, Seen(image), image);
    case Change::kPosterize:
      return Posterize(static_cast<int>(amount), image);
    case Change::kSolarize:
      return Solarize(amount, image);
    case Change::kAutoContrast:
      return AutoContrast(image);
    case Change::kEqualize:
      return Equalize(image);
    case Change::kInvert:
      return Solarize(0, image);
  }
}

void ImageChanger::Move(const AffineMap& inverse, bool bicubic,
                        const PixelsOf<uint8_t>& image) const {
  Sampling sampling = sampling_;
  if (sampling.filter == Sampling::kNearest && bicubic) sampling.filter = Sampling::kBicubic;
  if (sampling.filter != Sampling::kBicubic) sampling.filter = Sampling::kClampedBilinear;
  Warp(Seen(image), inverse, sampling, image);
}

Affine ImageChanger::AffineOf(Change change, double amount) const {
  Affine affine;
  if (change == Change::kTranslateX) affine.right = std::trunc(amount);
  if (change == Change::kTranslateY) affine.down = std::trunc(amount);
  if (change == Change::kRotate) affine.clockwise = -amount;
  if (change == Change::kShearX || change == Change::kShearY) {
    constexpr double kDegrees = 57.29577951308232;  // in a radian
    (change == Change::kShearX ? affine.shear_x : affine.shear_y) = std::atan(amount) * kDegrees;
    affine.centre_x = -static_cast<double>(shape_.width) / 2;
    affine.centre_y = -static_cast<double>(shape_.height) / 2;
  }
  return affine;
}

PixelsOf<const uint8_t> ImageChanger::Seen(const PixelsOf<uint8_t>& image) const {
  uint8_t* const values = before_->values.data();
  std::copy_n(image.values, shape_.values(), values);
  return Contiguous<const uint8_t>(values, shape_);
}

OpSchema ImageChangesSchema(const std::string& doc) {
  OpSchema schema = RandomImageSchema(
      doc +
          " Number k of n from a to b is a + k * s for k below n / 2 and b - (n - 1 - k) * s "
          "above, "
          "with s = (b - a) / (n - 1), in float32. Shears keep the upper left corner where it is, "
          "translations leave the fraction of a pixel out. For the pixels see affine, rotate, "
          "color_jitter, adjust_sharpness, posterize, solarize, autocontrast and equalize. X is "
          "uint8 with 1 or 3 channels and at most 2^20 pixels each way.",
      "images with dims and type of X; may be X");
  return WithSampling(schema);
}

}  // namespace millhopper
