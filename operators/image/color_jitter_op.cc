// SPDX-License-Identifier: Apache-2.0
// color_jitter: brightness, contrast, saturation and hue changed at random.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/attribute.h"
#include "operators/image/byte_images.h"
#include "operators/image/image_draws.h"
#include "operators/image/pixels/color.h"

namespace millhopper {
namespace {

constexpr char kFactor[] =
    "{d}: factors from max(0, 1 - d) to 1 + d; {low, high}: from low to high, not negative; none: "
    "it stays";

// What the attributes ask for, in the order of torchvision's names for them.
struct JitterStep {
  explicit JitterStep(const AttributeMap& attributes) {
    constexpr const char* kNames[] = {"brightness", "contrast", "saturation", "hue"};
    for (size_t which = 0; which < 4; ++which) {
      const std::string name = kNames[which];
      const bool is_hue = which == 3;
      const auto& given = attributes.Get<std::vector<float>>(name);
      asked[which] = !given.empty();
      ranges[which] = RangeAround(attributes, name, is_hue ? 0 : 1);
      if (given.size() == 1 && !is_hue) ranges[which].low = std::max(ranges[which].low, 0.0);
      if (is_hue) {
        Require(ranges[which].low >= -0.5 && ranges[which].high <= 0.5,
                "attribute 'hue' goes from ", ranges[which].low, " to ", ranges[which].high,
                "; it must lie within -0.5 and 0.5");
      } else {
        Require(ranges[which].low >= 0, "attribute '", name, "' begins at ", ranges[which].low,
                "; a factor is at least 0");
      }
    }
  }

  std::array<DrawnRange, 4> ranges;
  std::array<bool, 4> asked;
};

OpSchema Schema() {
  const std::vector<float> none;
  return RandomImageSchema(
             "Changes brightness, contrast, saturation and hue of each image, in an order and by "
             "factors that are drawn, as torchvision's ColorJitter does, with the arithmetic and "
             "the bytes of its functions for uint8 tensors in torchvision.transforms (those of "
             "transforms.v2 round saturation and hue otherwise, by 1): float32, a blend cuts its "
             "fraction off, and hue, which is turned in HSV, goes back to bytes as value * 255.999 "
             "without its fraction. Draws 0, 1, 2 and 3 of an image give the four factors, each "
             "low + (high - low) * u with u in [0, 1) of 53 bits. The order begins as brightness "
             "(0), contrast (1), saturation (2), hue (3); then, for k = 3, 2, 1, place k changes "
             "with the place that draw 7 - k chooses among 0 to k. X is uint8 with 1 or 3 "
             "channels; gray has no saturation and hue.",
             "images with dims and type of X; may be X")
      .Attr({"brightness", none, kFactor})
      .Attr({"contrast", none, kFactor})
      .Attr({"saturation", none, kFactor})
      .Attr({"hue", none,
             "{d}: parts of the color circle from -d to d; {low, high}: from low to high; within "
             "-0.5 and 0.5; none: it stays"})
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) { JitterStep{attributes}; })
      .Infer(InferSameByteImages);
}

void Run(OpContext& context) {
  constexpr void (*kAdjust[])(double, const PixelsOf<uint8_t>&) = {AdjustBrightness, AdjustContrast,
                                                                   AdjustSaturation, AdjustHue};
  const JitterStep step(context.attributes());
  const RandomKey key = ImageKey(context);
  ChangeByteImages(context, [&](const PixelsOf<uint8_t>& image, uint64_t i) {
    std::array<size_t, 4> order = {0, 1, 2, 3};
    for (uint64_t k = 3; k > 0; --k) std::swap(order[k], order[key.Below(k + 1, i, 7 - k)]);
    for (const size_t which : order) {
      if (step.asked[which]) kAdjust[which](step.ranges[which].At(key.Bits(i, which)), image);
    }
  });
}

REGISTER_OPERATOR(color_jitter, Schema, Run);

}  // namespace
}  // namespace millhopper
