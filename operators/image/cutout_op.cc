// SPDX-License-Identifier: Apache-2.0
// cutout: a rectangle of each image is covered, at a place that is drawn.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "framework/base/attribute.h"
#include "operators/image/image_argument.h"
#include "operators/image/image_draws.h"

namespace millhopper {
namespace {

struct CutoutStep {
  explicit CutoutStep(const AttributeMap& attributes)
      : p(attributes.Get<float>("p")),
        size(attributes.Get<int32_t>("size")),
        scale(RangeAround(attributes, "scale", 0)),
        ratio(RangeAround(attributes, "ratio", 1)),
        value(attributes.Get<std::vector<float>>("value")) {
    RequireProbability(attributes);
    Require(scale.low >= 0 && scale.high <= 1, "attribute 'scale' asks for the range from ",
            scale.low, " to ", scale.high, "; it must lie within 0 and 1");
    Require(ratio.low >= 0.001 && ratio.high <= 1000, "attribute 'ratio' asks for the range from ",
            ratio.low, " to ", ratio.high, "; it must lie within 0.001 and 1000");
    Require(value.size() <= 4, "attribute 'value' has ", value.size(),
            " values; it is one, or one for each channel of the images");
  }

  // What is covered of image i: an empty box if nothing is.
  Box Draw(const RandomKey& key, uint64_t i, const ImageShape& shape) const {
    if (!(ToUnitFloat(key.Bits(i, 0)) < p) || shape.height == 0 || shape.width == 0) return {};
    return size > 0 ? DrawSquare(key, i, shape) : DrawErased(key, i, shape);
  }

  Box DrawSquare(const RandomKey& key, uint64_t i, const ImageShape& shape) const {
    const auto draw = [&](int64_t side, uint64_t number) {
      return static_cast<int64_t>(key.Below(static_cast<uint64_t>(side), i, number)) - size / 2;
    };
    const int64_t y = draw(shape.height, 1);
    const int64_t x = draw(shape.width, 2);
    const int64_t top = std::max<int64_t>(y, 0);
    const int64_t left = std::max<int64_t>(x, 0);
    return {left, top, std::min(x + size, shape.width) - left,
            std::min(y + size, shape.height) - top};
  }

  Box DrawErased(const RandomKey& key, uint64_t i, const ImageShape& shape) const {
    constexpr uint64_t kAttempts = 10;
    const auto area = static_cast<double>(shape.height) * static_cast<double>(shape.width);
    const DrawnRange log_ratio{std::log(ratio.low), std::log(ratio.high)};
    for (uint64_t attempt = 0; attempt < kAttempts; ++attempt) {
      const double covered = area * scale.At(key.Bits(i, 1 + 2 * attempt));
      const double aspect = std::exp(log_ratio.At(key.Bits(i, 2 + 2 * attempt)));
      const auto height = static_cast<int64_t>(std::rint(std::sqrt(covered * aspect)));
      const auto width = static_cast<int64_t>(std::rint(std::sqrt(covered / aspect)));
      if (height >= shape.height || width >= shape.width) continue;
      const auto rows = static_cast<uint64_t>(shape.height - height + 1);
      const auto columns = static_cast<uint64_t>(shape.width - width + 1);
      return {static_cast<int64_t>(key.Below(columns, i, 2 + 2 * kAttempts)),
              static_cast<int64_t>(key.Below(rows, i, 1 + 2 * kAttempts)), width, height};
    }
    return {};
  }

  float p;
  int64_t size;
  DrawnRange scale, ratio;
  std::vector<float> value;
};

OpSchema Schema() {
  return RandomImageSchema(
             "Covers a rectangle of each image with probability p: if draw 0, a number in [0, 1), "
             "is below p. Without `size` it is torchvision's RandomErasing: attempt a of ten, from "
             "0, draws the rectangle's part of the area by draw 1 + 2a, and the logarithm of "
             "height "
             "by width by draw 2 + 2a, each low + (high - low) * u with u in [0, 1) of 53 bits; "
             "its "
             "sides are rounded to whole pixels, half to even. The first one that is smaller than "
             "the image both ways lies at row draw 21 below H - height + 1 and column draw 22 "
             "below "
             "W - width + 1; if there is none, the image stays. With `size` it is a square "
             "(Source: "
             "DeVries and Taylor, \"Improved Regularization of Convolutional Neural Networks with "
             "Cutout\", 2017) that begins size / 2 before row draw 1 below H and column draw 2 "
             "below "
             "W, as far as it lies within the image.",
             "images with dims and type of X; may be X")
      .Attr({"p", 0.5f, "probability, from 0 to 1"})
      .Attr(
          AttributeSchema("size", int32_t{0}, "side of the square in pixels; 0: drawn").AtLeast(0))
      .Attr({"scale", std::vector<float>{0.02f, 0.33f},
             "{low, high}: part of the image that is covered"})
      .Attr({"ratio", std::vector<float>{0.3f, 3.3f}, "{low, high}: height by width"})
      .Attr({"value", std::vector<float>{},
             "what covers: one value or one for each channel; 0 if there is none; for uint8 and "
             "uint16 whole numbers that they hold"})
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) { CutoutStep{attributes}; })
      .Infer(InferSameImages);
}

template <typename T>
T ValueAs(float value) {
  if constexpr (std::is_integral_v<T>) {
    constexpr int kMost = std::numeric_limits<T>::max();
    Require(value >= 0 && value <= kMost && value == std::floor(value), "attribute 'value' has ",
            value, "; for ", ToString(DataTypeOf<T>()), " images it must be whole and from 0 to ",
            kMost);
  }
  return static_cast<T>(value);
}

void Run(OpContext& context) {
  const ImageShape shape = ShapeOfImages(context);
  const CutoutStep step(context.attributes());
  const auto given = static_cast<int64_t>(step.value.size());
  Require(given <= 1 || given == shape.channels, "attribute 'value' has ", given,
          " values; it is one, or one for each of the ", shape.channels, " channels");
  const RandomKey key = ImageKey(context);
  const LoDTensor x = context.In("X");  // a copy that shares the values, since Out may be X
  LoDTensor* const out = context.Out("Out");
  DispatchType(ImageTypes(), context, "X", [&](auto tag) {
    using T = typename decltype(tag)::type;
    T cover[4] = {};
    for (size_t c = 0; c < 4 && given > 0; ++c) {
      cover[c] = ValueAs<T>(step.value[c < step.value.size() ? c : 0]);
    }
    T* const values = out->Allocate<T>(x.dims());
    std::copy_n(x.data<T>(), x.numel(), values);
    for (int64_t i = 0; i < x.dims()[0]; ++i) {
      const Box box = step.Draw(key, static_cast<uint64_t>(i), shape);
      const PixelsOf<T> covered = Contiguous(values + i * shape.values(), shape).Crop(box);
      for (int64_t y = 0; y < box.height; ++y) {
        T* row = covered.row(y);
        for (int64_t column = 0; column < box.width; ++column, row += shape.channels) {
          std::copy_n(cover, shape.channels, row);
        }
      }
    }
  });
}

REGISTER_OPERATOR(cutout, Schema, Run);

}  // namespace
}  // namespace millhopper
