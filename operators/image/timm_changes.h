// SPDX-License-Identifier: Apache-2.0
// RandAugment and AutoAugment as timm has them, by its texts such as "rand-m9-mstd0.5-inc1" and
// "original-mstd0.5" (Source: timm/data/auto_augment.py).
#ifndef MILLHOPPER_OPERATORS_IMAGE_TIMM_CHANGES_H_
#define MILLHOPPER_OPERATORS_IMAGE_TIMM_CHANGES_H_

#include <cstdint>
#include <string>

#include "framework/base/random.h"
#include "operators/image/byte_images.h"
#include "operators/image/image_changes.h"
#include "operators/image/image_sampling.h"
#include "operators/image/pixels/image.h"

namespace millhopper {

// In the order in which timm lists them.
enum class TimmChange {
  kAutoContrast,
  kEqualize,
  kInvert,
  kRotate,
  kPosterize,
  kSolarize,
  kSolarizeAdd,
  kColor,
  kContrast,
  kBrightness,
  kSharpness,
  kShearX,
  kShearY,
  kTranslateX,
  kTranslateY,
};
constexpr uint64_t kTimmChanges = 15;

// How strong changes are, by a magnitude that may be drawn.
struct TimmMagnitudes {
  double most = 10;
  double deviation = 0;     // of the magnitude; above 100 it is uniform from 0
  bool increasing = false;  // whether changes of colours and solarize become stronger with it
  // Of posterize: how many bits stay at magnitude 0, and whether more or fewer do above it.
  int32_t bits = 0;
  bool fewer_bits = false;

  // The draws of a change.
  static constexpr uint64_t kDraws = 4;
  // Makes a change of image i with probability p: draw `first` decides about it, the next ones
  // about its magnitude, its sign, and how pixels are moved.
  void Apply(TimmChange change, double p, double magnitude, const RandomKey& key, uint64_t i,
             uint64_t first, const ImageChanger& changer, const PixelsOf<uint8_t>& image) const;

  // Sets `deviation` by "0.5" of an option "mstd0.5". Throws kInvalidArgument.
  void SetDeviation(const std::string& number, const std::string& policy);
};

// The policies of RandAugment.
class TimmRandAugment {
 public:
  // Throws kInvalidArgument if the text is no policy of RandAugment.
  explicit TimmRandAugment(const std::string& policy);

  // Changes image i: change j is chosen by draw 5j and made by those after it.
  void Apply(const RandomKey& key, uint64_t i, const ImageChanger& changer,
             const PixelsOf<uint8_t>& image) const;

 private:
  void SetOption(const std::string& key, const std::string& number, const std::string& policy);

  uint64_t count_ = 2;
  double magnitude_ = 10;
  double p_ = 0.5;
  TimmMagnitudes magnitudes_;
};

// Those of AutoAugment: original, originalr, v0 and v0r.
class TimmAutoAugment {
 public:
  // Whether a text is meant as one of them.
  static bool IsMeant(const std::string& policy);
  // Throws kInvalidArgument if it is none.
  explicit TimmAutoAugment(const std::string& policy);

  // Changes image i by the pair that draw 0 chooses, with draws 1 to 4 and 5 to 8.
  void Apply(const RandomKey& key, uint64_t i, const ImageChanger& changer,
             const PixelsOf<uint8_t>& image) const;

  // A change, how likely it is, in tenths, and its magnitude.
  struct LikelyChange {
    TimmChange change;
    int32_t tenths, magnitude;
  };
  struct Pair {
    LikelyChange changes[2];
  };

 private:
  const Pair* pairs_;
  TimmMagnitudes magnitudes_;
};

// How pixels are moved if attributes do not say it, as timm does: what lies outside is 128.
Sampling TimmSampling(const AttributeMap& attributes, int64_t channels);

// Makes Out of X by a policy, TimmRandAugment or TimmAutoAugment.
template <typename Policy>
void ChangeByTimm(OpContext& context, const Policy& policy) {
  const ImageShape shape = ShapeOfImages(context);
  const ImageChanger changer(TimmSampling(context.attributes(), shape.channels), shape);
  const RandomKey key = ImageKey(context);
  ChangeByteImages(context, [&](const PixelsOf<uint8_t>& image, uint64_t i) {
    policy.Apply(key, i, changer, image);
  });
}

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_TIMM_CHANGES_H_
