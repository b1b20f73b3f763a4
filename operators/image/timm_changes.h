// SPDX-License-Identifier: Apache-2.0
// RandAugment as timm has it, by its texts such as "rand-m9-mstd0.5-inc1" (Source:
// rand_augment_transform of timm/data/auto_augment.py).
#ifndef MILLHOPPER_OPERATORS_IMAGE_TIMM_CHANGES_H_
#define MILLHOPPER_OPERATORS_IMAGE_TIMM_CHANGES_H_

#include <cstdint>
#include <string>

#include "framework/base/random.h"
#include "operators/image/image_changes.h"
#include "operators/image/pixels/image.h"

namespace millhopper {

class TimmChanges {
 public:
  // The draws of a change.
  static constexpr uint64_t kDraws = 5;

  // Throws kInvalidArgument if the text is no policy of RandAugment.
  explicit TimmChanges(const std::string& policy);

  // How many changes are made of an image.
  uint64_t count() const { return count_; }
  // Makes the change that draws first, ..., first + kDraws - 1 of image i choose.
  void Apply(const RandomKey& key, uint64_t i, uint64_t first, const ImageChanger& changer,
             const PixelsOf<uint8_t>& image) const;

 private:
  // In the order in which timm lists them.
  enum class Kind {
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
  static constexpr uint64_t kKinds = 15;

  void SetOption(const std::string& key, const std::string& number, const std::string& policy);
  // A magnitude by its mean, its deviation, and these bits.
  double DrawMagnitude(uint64_t bits) const;

  uint64_t count_ = 2;
  double magnitude_ = 10, most_ = 10;
  double deviation_ = 0;
  double p_ = 0.5;
  bool increasing_ = false;
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_TIMM_CHANGES_H_
