// SPDX-License-Identifier: Apache-2.0
#include "operators/image/color_factors.h"

#include <algorithm>
#include <string>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "operators/image/pixels/color.h"

namespace millhopper {
namespace {

constexpr const char* kNames[] = {"brightness", "contrast", "saturation", "hue"};

}  // namespace

ColorFactors::ColorFactors(const AttributeMap& attributes) {
  for (size_t which = 0; which < kCount; ++which) {
    const std::string name = kNames[which];
    const bool is_hue = which == kHue;
    const auto& given = attributes.Get<std::vector<float>>(name);
    asked[which] = !given.empty();
    ranges[which] = RangeAround(attributes, name, is_hue ? 0 : 1);
    if (given.size() == 1 && !is_hue) ranges[which].low = std::max(ranges[which].low, 0.0);
    if (is_hue) {
      Require(ranges[which].low >= -0.5 && ranges[which].high <= 0.5, "attribute 'hue' goes from ",
              ranges[which].low, " to ", ranges[which].high, "; it must lie within -0.5 and 0.5");
    } else {
      Require(ranges[which].low >= 0, "attribute '", name, "' begins at ", ranges[which].low,
              "; a factor is at least 0");
    }
  }
}

void ColorFactors::Apply(size_t which, uint64_t bits, const PixelsOf<uint8_t>& image) const {
  constexpr void (*kAdjust[])(double, const PixelsOf<uint8_t>&) = {AdjustBrightness, AdjustContrast,
                                                                   AdjustSaturation, AdjustHue};
  if (asked[which]) kAdjust[which](ranges[which].At(bits), image);
}

OpSchema& WithColorFactors(OpSchema& schema,
                           const std::array<std::vector<float>, ColorFactors::kCount>& defaults) {
  constexpr char kFactor[] =
      "{d}: factors from max(0, 1 - d) to 1 + d; {low, high}: from low to high, not negative; "
      "none: it stays";
  for (size_t which = 0; which < ColorFactors::kHue; ++which) {
    schema.Attr({kNames[which], defaults[which], kFactor});
  }
  return schema.Attr({kNames[ColorFactors::kHue], defaults[ColorFactors::kHue],
                      "{d}: parts of the color circle from -d to d; {low, high}: from low to high; "
                      "within -0.5 and 0.5; none: it stays"});
}

}  // namespace millhopper
