// SPDX-License-Identifier: Apache-2.0
// The changes of images that policies of augmentation choose among, as torchvision makes them
// (Source: _apply_op of torchvision/transforms/autoaugment.py).
#ifndef MILLHOPPER_OPERATORS_IMAGE_IMAGE_CHANGES_H_
#define MILLHOPPER_OPERATORS_IMAGE_IMAGE_CHANGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "framework/base/ref_counted.h"
#include "framework/program/operator.h"
#include "operators/image/pixels/affine.h"
#include "operators/image/pixels/image.h"

namespace millhopper {

// RandAugment and TrivialAugmentWide choose among all but the last by a number, in this order.
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
  kInvert,
};
constexpr uint64_t kNumberedChanges = 14;

// Whether a change can be turned to its opposite.
constexpr bool HasSides(Change change) {
  return change >= Change::kShearX && change <= Change::kSharpness;
}

// One of several strengths, from number 0 on.
struct Strength {
  int32_t bin = 0, bins = 2;

  // Number `bin` of `bins` numbers from low to high, as torch.linspace has them in float32.
  double Between(double low, double high) const;
  // How many bits are left if the last strength takes `most` of 8.
  double BitsLeft(double most) const;
};

// How much RandAugment and AutoAugment change an image of this shape by.
double RandAugmentAmount(Change change, const Strength& strength, const ImageShape& shape);

// Makes changes. One thread at a time.
class ImageChanger {
 public:
  // For images of this shape; the attributes are those of image_sampling.h.
  ImageChanger(const AttributeMap& attributes, const ImageShape& shape);
  // The same with another sampling.
  ImageChanger(const Sampling& sampling, const ImageShape& shape);

  const ImageShape& shape() const { return shape_; }
  // Changes an image by so much: shears by a tangent, about the upper left corner; translates by
  // pixels, without the fraction; rotates by degrees, counter-clockwise; multiplies brightness,
  // color, contrast or sharpness by 1 + amount; posterizes to that many bits; solarizes from that
  // threshold on. The other changes have no amount.
  void Apply(Change change, double amount, const PixelsOf<uint8_t>& image) const;
  // Takes each pixel from where `inverse` says, as Pillow's Image.transform does: by bicubic, or by
  // bilinear, where the sampling does not say which of them.
  void Move(const AffineMap& inverse, bool bicubic, const PixelsOf<uint8_t>& image) const;

 private:
  // Memory of a pool, which is used again.
  class PooledPixels final : public RefCounted {
   public:
    std::vector<uint8_t> values;

   private:
    void Dispose() override { Pool<PooledPixels>::Give(this); }
  };

  Affine AffineOf(Change change, double amount) const;
  // A copy of the image, for changes that look at other pixels than they write.
  PixelsOf<const uint8_t> Seen(const PixelsOf<uint8_t>& image) const;

  const Sampling sampling_;
  const ImageShape shape_;
  const Ref<PooledPixels> before_;
};

// The schema of an operator that changes uint8 images by such changes, with the attributes of
// image_sampling.h; it adds what the changes have in common to `doc`.
OpSchema ImageChangesSchema(const std::string& doc);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_IMAGE_CHANGES_H_
