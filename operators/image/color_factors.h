// SPDX-License-Identifier: Apache-2.0
// Brightness, contrast, saturation and hue, each within a range that attributes give, in the order
// of torchvision's names for them.
#ifndef MILLHOPPER_OPERATORS_IMAGE_COLOR_FACTORS_H_
#define MILLHOPPER_OPERATORS_IMAGE_COLOR_FACTORS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "framework/program/operator.h"
#include "operators/image/image_draws.h"
#include "operators/image/pixels/image.h"

namespace millhopper {

// The attributes `brightness`, `contrast`, `saturation` and `hue`.
struct ColorFactors {
  static constexpr size_t kBrightness = 0, kContrast = 1, kSaturation = 2, kHue = 3, kCount = 4;

  // Throws kInvalidArgument if an attribute is wrong.
  explicit ColorFactors(const AttributeMap& attributes);

  // Changes an image by the factor of `ranges` that these bits draw, where one is asked for.
  void Apply(size_t which, uint64_t bits, const PixelsOf<uint8_t>& image) const;

  std::array<DrawnRange, kCount> ranges;
  std::array<bool, kCount> asked;
};

// Declares the attributes, with these values where they are not given.
OpSchema& WithColorFactors(
    OpSchema& schema, const std::array<std::vector<float>, ColorFactors::kCount>& defaults = {});

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_COLOR_FACTORS_H_
