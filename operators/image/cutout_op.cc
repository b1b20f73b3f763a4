// SPDX-License-Identifier: Apache-2.0
// cutout: a rectangle of each image is covered, at a place that is drawn.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "framework/base/attribute.h"
#include "operators/image/image_argument.h"
#include "operators/image/image_draws.h"

namespace millhopper {
namespace {

using Floats = std::vector<float>;

// The draws of a rectangle, and where those of its noise begin.
constexpr uint64_t kDrawsOfOne = 23;
constexpr uint64_t kDrawOfCount = uint64_t{1} << 31;
constexpr uint64_t kFirstOfNoise = uint64_t{1} << 32;

// One number for each channel of images, of an attribute with one number or as many.
std::array<float, 4> PerChannel(const AttributeMap& attributes, const char* name,
                                int64_t channels) {
  const auto& given = attributes.Get<Floats>(name);
  const auto count = static_cast<int64_t>(given.size());
  Require(count <= 1 || count == channels, "attribute '", name, "' has ", count,
          " values; it is one, or one for each of the ", channels, " channels");
  std::array<float, 4> values{};
  for (size_t c = 0; c < values.size() && count > 0; ++c) {
    values[c] = given[c < given.size() ? c : 0];
  }
  return values;
}

struct CutoutStep {
  explicit CutoutStep(const AttributeMap& attributes)
      : p(attributes.Get<float>("p")),
        size(attributes.Get<int32_t>("size")),
        scale(RangeAround(attributes, "scale", 0)),
        ratio(RangeAround(attributes, "ratio", 1)) {
    RequireProbability(attributes);
    Require(scale.low >= 0 && scale.high <= 1, "attribute 'scale' asks for the range from ",
            scale.low, " to ", scale.high, "; it must lie within 0 and 1");
    Require(ratio.low >= 0.001 && ratio.high <= 1000, "attribute 'ratio' asks for the range from ",
            ratio.low, " to ", ratio.high, "; it must lie within 0.001 and 1000");
    for (const char* const name : {"value", "mean", "std"}) {
      const auto& given = attributes.Get<Floats>(name);
      Require(given.size() <= 4, "attribute '", name, "' has ", given.size(),
              " values; it is one, or one for each channel of the images");
      for (const float number : given) {
        Require(name[0] == 'v' || std::isfinite(number), "attribute '", name, "' has the value ",
                number, "; it must be finite");
      }
    }
    const auto& counts = attributes.Get<std::vector<int32_t>>("count");
    Require(counts.size() == 1 || counts.size() == 2, "attribute 'count' has ", counts.size(),
            " values; it is one, or the least and the most");
    least = counts.front();
    most = counts.back();
    Require(least >= 1 && least <= most && most <= 100, "attribute 'count' asks for ", least,
            " to ", most, " rectangles; it is from 1 to 100, the least first");
  }

  // How many rectangles of image i are covered.
  uint64_t Count(const RandomKey& key, uint64_t i, const ImageShape& shape) const {
    if (!(ToUnitFloat(key.Bits(i, 0)) < p) || shape.height == 0 || shape.width == 0) return 0;
    return static_cast<uint64_t>(least) +
           key.Below(static_cast<uint64_t>(int64_t{most} - least + 1), i, kDrawOfCount);
  }

  // Rectangle r of `count` of image i; it may be empty.
  Box Draw(const RandomKey& key, uint64_t i, uint64_t r, uint64_t count,
           const ImageShape& shape) const {
    const uint64_t first = 1 + kDrawsOfOne * r;
    return size > 0 ? DrawSquare(key, i, first, shape) : DrawErased(key, i, first, count, shape);
  }

  Box DrawSquare(const RandomKey& key, uint64_t i, uint64_t first, const ImageShape& shape) const {
    const auto draw = [&](int64_t side, uint64_t number) {
      return static_cast<int64_t>(key.Below(static_cast<uint64_t>(side), i, number)) - size / 2;
    };
    const int64_t y = draw(shape.height, first);
    const int64_t x = draw(shape.width, first + 1);
    const int64_t top = std::max<int64_t>(y, 0);
    const int64_t left = std::max<int64_t>(x, 0);
    return {left, top, std::min(x + size, shape.width) - left,
            std::min(y + size, shape.height) - top};
  }

  Box DrawErased(const RandomKey& key, uint64_t i, uint64_t first, uint64_t count,
                 const ImageShape& shape) const {
    constexpr uint64_t kAttempts = 10;
    const auto area = static_cast<double>(shape.height) * static_cast<double>(shape.width);
    const DrawnRange log_ratio{std::log(ratio.low), std::log(ratio.high)};
    for (uint64_t attempt = 0; attempt < kAttempts; ++attempt) {
      const double covered =
          area * scale.At(key.Bits(i, first + 2 * attempt)) / static_cast<double>(count);
      const double aspect = std::exp(log_ratio.At(key.Bits(i, first + 1 + 2 * attempt)));
      const auto height = static_cast<int64_t>(std::rint(std::sqrt(covered * aspect)));
      const auto width = static_cast<int64_t>(std::rint(std::sqrt(covered / aspect)));
      if (height >= shape.height || width >= shape.width) continue;
      const auto rows = static_cast<uint64_t>(shape.height - height + 1);
      const auto columns = static_cast<uint64_t>(shape.width - width + 1);
      return {static_cast<int64_t>(key.Below(columns, i, first + 1 + 2 * kAttempts)),
              static_cast<int64_t>(key.Below(rows, i, first + 2 * kAttempts)), width, height};
    }
    return {};
  }

  float p;
  int64_t size;
  DrawnRange scale, ratio;
  int32_t least = 1, most = 1;
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
             "W, as far as it lies within the image. Of `count` rectangles, which draw 2^31 "
             "chooses "
             "within its range, number r, from 0, has the draws 23r later, and its part of the "
             "area is divided by their number, as timm's RandomErasing does.",
             "images with dims and type of X, which may be [N, C, H, W], too, with W above "
             "4; may be X")
      .Attr({"p", 0.5f, "probability, from 0 to 1"})
      .Attr(
          AttributeSchema("size", int32_t{0}, "side of the square in pixels; 0: drawn").AtLeast(0))
      .Attr({"scale", std::vector<float>{0.02f, 0.33f},
             "{low, high}: part of the image that is covered"})
      .Attr({"ratio", std::vector<float>{0.3f, 3.3f}, "{low, high}: height by width"})
      .Attr({"count", std::vector<int32_t>{1},
             "{n}, or {least, most}: rectangles of an image that is covered, 1 to 100"})
      .Attr(AttributeSchema("mode", std::string("const"),
                            "what covers, by timm's names: const: `value`; rand: a normal number "
                            "for each channel of a rectangle; pixel: one for each of its values: "
                            "that of value v of rectangle r is made of draw 2^32 (r + 1) + v as by "
                            "gaussian_noise")
                .OneOf({"const", "rand", "pixel"}))
      .Attr({"value", Floats{},
             "what covers: one value or one for each channel; 0 if there is none; for uint8 and "
             "uint16 whole numbers that they hold"})
      .Attr({"mean", Floats{0.0f}, "of the normal numbers: one, or one for each channel"})
      .Attr({"std", Floats{1.0f},
             "their standard deviation: one, or one for each channel; those of uint8 and uint16 "
             "are rounded and held within what these hold"})
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) { CutoutStep{attributes}; })
      .Infer([](InferContext& context) {
        int64_t channels;
        SetOutImages(context, InferEitherLayout(context, &channels));
      });
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

// What covers rectangles.
template <typename T>
class Cover {
 public:
  Cover(const AttributeMap& attributes, int64_t channels)
      : is_drawn_(attributes.Get<std::string>("mode") != "const"),
        is_one_(attributes.Get<std::string>("mode") != "pixel"),
        channels_(static_cast<uint64_t>(channels)),
        mean_(PerChannel(attributes, "mean", channels)),
        deviation_(PerChannel(attributes, "std", channels)) {
    const std::array<float, 4> value = PerChannel(attributes, "value", channels);
    std::transform(value.begin(), value.end(), value_.begin(), ValueAs<T>);
  }

  // Covers the channels from `first` on that a plane of the image has.
  void Put(const RandomKey& key, uint64_t i, uint64_t r, uint64_t first,
           const PixelsOf<T>& rectangle) const {
    const auto count = static_cast<uint64_t>(rectangle.shape.channels);
    uint64_t draw = kFirstOfNoise * (r + 1) + first;
    for (int64_t y = 0; y < rectangle.shape.height; ++y) {
      T* pixel = rectangle.row(y);
      for (int64_t x = 0; x < rectangle.shape.width; ++x, pixel += count) {
        for (uint64_t c = 0; c < count; ++c) {
          pixel[c] = is_drawn_ ? Noise(key.Bits(i, draw + c), first + c) : value_[first + c];
        }
        if (!is_one_) draw += channels_;
      }
    }
  }

 private:
  T Noise(uint64_t bits, size_t channel) const {
    const float value = mean_[channel] + deviation_[channel] * static_cast<float>(NormalOf(bits));
    if constexpr (std::is_integral_v<T>) {
      constexpr float kMost = std::numeric_limits<T>::max();
      return static_cast<T>(std::rint(std::clamp(value, 0.0f, kMost)));
    } else {
      return value;
    }
  }

  bool is_drawn_, is_one_;
  uint64_t channels_;
  std::array<float, 4> mean_, deviation_;
  std::array<T, 4> value_;
};

void Run(OpContext& context) {
  const ImagePlanes planes = PlanesOfImages(context);
  const ImageShape& shape = planes.shape;
  const CutoutStep step(context.attributes());
  const RandomKey key = ImageKey(context);
  const LoDTensor x = context.In("X");  // a copy that shares the values, since Out may be X
  LoDTensor* const out = context.Out("Out");
  DispatchType(ImageTypes(), context, "X", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Cover<T> cover(context.attributes(), planes.channels());
    T* const values = out->Allocate<T>(x.dims());
    std::copy_n(x.data<T>(), x.numel(), values);
    for (int64_t image = 0; image < x.dims()[0]; ++image) {
      const auto i = static_cast<uint64_t>(image);
      const uint64_t count = step.Count(key, i, shape);
      for (uint64_t r = 0; r < count; ++r) {
        const Box box = step.Draw(key, i, r, count, shape);
        for (int64_t plane = 0; plane < planes.count; ++plane) {
          T* const first = values + (image * planes.count + plane) * shape.values();
          cover.Put(key, i, r, static_cast<uint64_t>(plane), Contiguous(first, shape).Crop(box));
        }
      }
    }
  });
}

REGISTER_OPERATOR(cutout, Schema, Run);

}  // namespace
}  // namespace millhopper
