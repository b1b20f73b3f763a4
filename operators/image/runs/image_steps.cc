// SPDX-License-Identifier: Apache-2.0
#include "operators/image/runs/image_steps.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "framework/program/operator.h"
#include "operators/image/pixels/orientation.h"

namespace millhopper {
namespace {

using Ints = std::vector<int32_t>;
using Floats = std::vector<float>;

// "nearest", "bilinear", ...; at the place of its Interpolation.
const std::vector<std::string>& Interpolations() {
  static const auto* const names =
      new std::vector<std::string>{"nearest", "bilinear", "bicubic", "area", "lanczos"};
  return *names;
}

// "pixels", "P", "I;16"; at the place of its DecodeMode.
const std::vector<std::string>& Modes() {
  static const auto* const names = new std::vector<std::string>{"pixels", "P", "I;16"};
  return *names;
}

// The value of an attribute as the place of its name in a list that has it.
template <typename Enum>
Enum PlaceOf(const std::string& name, const std::vector<std::string>& names) {
  return static_cast<Enum>(std::find(names.begin(), names.end(), name) - names.begin());
}

void RequireSize(size_t given, const char* wanted) {
  Require(given == 2, "attribute 'size' has ", given, " values; ", wanted);
}

// Throws unless the box lies within an image of this shape.
Box Within(const ImageShape& shape, const Box& box) {
  Require(box.x + box.width <= shape.width && box.y + box.height <= shape.height, "an image of ",
          shape.height, " x ", shape.width, " pixels has no part of ", box.height, " x ", box.width,
          " at row ", box.y, ", column ", box.x, "; `resize` or `pad` make it larger");
  return box;
}

Box Within(const ImageShape& shape, const ImageSize& size) {
  return Within(shape, {0, 0, size.width, size.height});
}

// The lowest and the highest factor of a size.
std::pair<double, double> FactorsOf(const AttributeMap& attributes, const char* name) {
  const auto& range = attributes.Get<Floats>(name);
  Require(range.size() == 2, "attribute '", name, "' is the lowest and the highest factor");
  Require(range[0] > 0 && range[0] <= range[1] && range[1] <= 1000, "attribute '", name,
          "' asks for the range from ", range[0], " to ", range[1],
          "; it must lie above 0 and within 1000, the lowest first");
  return {range[0], range[1]};
}

// Half of a number, a half rounded to even, as Python's round does.
int64_t HalfToEven(int64_t n) { return n / 2 + (n % 2 == 1 && n / 2 % 2 == 1 ? 1 : 0); }

}  // namespace

ImageSize ImageSizeOf(const AttributeMap& attributes) {
  const auto& size = attributes.Get<Ints>("size");
  RequireSize(size.size(), "it is [height, width]");
  return {size[0], size[1]};
}

Resize ResizeOf(const AttributeMap& attributes) {
  Resize resize;
  resize.interpolation =
      PlaceOf<Interpolation>(attributes.Get<std::string>("interpolation"), Interpolations());
  resize.antialias = attributes.Get<bool>("antialias");
  return resize;
}

ImageSize ScaledSize(const ImageShape& shape, double factor) {
  Require(shape.height > 0 && shape.width > 0, "an image without pixels cannot be resized");
  const auto side = [&](int64_t pixels) {
    constexpr double kMost = 1e12;  // which is refused later
    const double scaled = std::min(static_cast<double>(pixels) * factor, kMost);
    return std::max<int64_t>(static_cast<int64_t>(scaled), 1);
  };
  return {side(shape.height), side(shape.width)};
}

void AddModeAttribute(OpSchema* schema) {
  schema->Attr(
      AttributeSchema(
          "mode", std::string("pixels"),
          "which numbers: pixels: gray, colours and alpha from 0 to 255, of any image. For PNG "
          "images, by Pillow's names: P: the numbers of a palette, such as the classes of a mask, "
          "or of a gray image of at most 8 bits its values as stored, uint8 of 1 channel; I;16: "
          "the values of an image of 16 bits, such as depths, uint16 with the image's channels. "
          "Other images are errors, and a transparent colour makes no alpha. Operators that crop, "
          "mirror, pad and resize take such numbers (classes need interpolation nearest); cast "
          "makes other types of them")
          .OneOf(Modes()));
}

void AddSizeAttribute(OpSchema* schema) {
  schema->Attr(
      AttributeSchema("size", Ints{}, "[height, width] of the result").Required().AtLeast(1));
}

void AddResizeAttributes(OpSchema* schema) {
  schema
      ->Attr(AttributeSchema(
                 "interpolation", std::string("bilinear"),
                 "the filter, as Pillow has it; area is Pillow's BOX; nearest makes no new "
                 "values, which masks need")
                 .OneOf(Interpolations()))
      .Attr({"antialias", true,
             "whether every pixel counts when an image becomes smaller, as with Pillow; otherwise "
             "only those next to the place of each result: bilinear as torchvision's "
             "antialias=False, bicubic with Pillow's filter"});
}

CropStep::CropStep(const AttributeMap& attributes) {
  const ImageSize size = ImageSizeOf(attributes);
  box = {attributes.Get<int32_t>("left"), attributes.Get<int32_t>("top"), size.width, size.height};
}

Box CropStep::Of(const ImageShape& shape) const { return Within(shape, box); }

CenterCropStep::CenterCropStep(const AttributeMap& attributes) : size(ImageSizeOf(attributes)) {}

Box CenterCropStep::Of(const ImageShape& shape) const {
  Box box = Within(shape, size);
  box.x = HalfToEven(shape.width - size.width);
  box.y = HalfToEven(shape.height - size.height);
  return box;
}

RandomCropStep::RandomCropStep(const AttributeMap& attributes) : size(ImageSizeOf(attributes)) {}

Box RandomCropStep::Of(const ImageShape& shape, const RandomKey& key, uint64_t i) const {
  Box box = Within(shape, size);
  box.y =
      static_cast<int64_t>(key.Below(static_cast<uint64_t>(shape.height - size.height + 1), i, 0));
  box.x =
      static_cast<int64_t>(key.Below(static_cast<uint64_t>(shape.width - size.width + 1), i, 1));
  return box;
}

ResizeStep::ResizeStep(const AttributeMap& attributes)
    : size(attributes.Get<Ints>("size")),
      long_side(attributes.Get<std::string>("side") == "long"),
      most(attributes.Get<int32_t>("max_size")),
      resize(ResizeOf(attributes)) {
  if (size.size() != 1)
    RequireSize(size.size(), "it is [height, width], or the length of one side");
  Require(most == 0 || (size.size() == 1 && !long_side && most > size[0]),
          "attribute 'max_size' is ", most,
          "; with a longer side that is at most so long 'size' is the length of the short side, "
          "and less");
}

Resize ResizeStep::Of(const ImageShape& shape) const {
  Resize result = resize;
  if (size.size() == 2) {
    result.height = size[0];
    result.width = size[1];
    return result;
  }
  Require(shape.height > 0 && shape.width > 0, "an image without pixels cannot be resized");
  const bool given_is_height = (shape.height < shape.width) != long_side;
  const int64_t given = given_is_height ? shape.height : shape.width;
  const int64_t other = given_is_height ? shape.width : shape.height;
  int64_t asked = size[0];
  int64_t computed = std::max<int64_t>(asked * other / given, 1);
  if (most > 0 && computed > most) {
    asked = std::max<int64_t>(most * asked / computed, 1);
    computed = most;
  }
  result.height = given_is_height ? asked : computed;
  result.width = given_is_height ? computed : asked;
  return result;
}

ScaleJitterStep::ScaleJitterStep(const AttributeMap& attributes)
    : target(ImageSizeOf(attributes)), resize(ResizeOf(attributes)) {
  std::tie(low, high) = FactorsOf(attributes, "scale");
}

ImageSize ScaleJitterStep::Of(const ImageShape& shape, const RandomKey& key, uint64_t i) const {
  const auto height = static_cast<double>(shape.height), width = static_cast<double>(shape.width);
  const double fits = std::min(static_cast<double>(target.height) / height,
                               static_cast<double>(target.width) / width);
  return ScaledSize(shape, fits * (low + (high - low) * ToUnitDouble(key.Bits(i, 0))));
}

ResizeKeepRatioStep::ResizeKeepRatioStep(const AttributeMap& attributes)
    : target(ImageSizeOf(attributes)),
      resize(ResizeOf(attributes)),
      longest(attributes.Get<float>("longest")),
      scale_area(attributes.Get<bool>("scale_area")) {
  Require(longest >= 0 && longest <= 1, "attribute 'longest' is ", longest, "; it is from 0 to 1");
  scale.p = attributes.Get<float>("scale_p");
  std::tie(scale.low, scale.high) = FactorsOf(attributes, "scale");
  aspect.p = attributes.Get<float>("aspect_p");
  std::tie(aspect.low, aspect.high) = FactorsOf(attributes, "aspect");
}

ImageSize ResizeKeepRatioStep::Of(const ImageShape& shape, const RandomKey& key, uint64_t i) const {
  Require(shape.height > 0 && shape.width > 0, "an image without pixels cannot be resized");
  const auto height = static_cast<double>(shape.height), width = static_cast<double>(shape.width);
  const double down = height / static_cast<double>(target.height);
  const double across = width / static_cast<double>(target.width);
  const double ratio = std::max(down, across) * longest + std::min(down, across) * (1.0 - longest);
  double taller = 1, wider = 1;
  if (ToUnitFloat(key.Bits(i, 0)) < scale.p) {
    taller = scale.low + (scale.high - scale.low) * ToUnitDouble(key.Bits(i, 1));
    if (scale_area) taller = 1 / std::sqrt(taller);
    wider = taller;
  }
  if (ToUnitFloat(key.Bits(i, 2)) < aspect.p) {
    const double low = std::log(aspect.low), high = std::log(aspect.high);
    const double root = std::sqrt(std::exp(low + (high - low) * ToUnitDouble(key.Bits(i, 3))));
    taller /= root;
    wider *= root;
  }
  const auto side = [&](double pixels) {
    constexpr double kMost = 1e12;  // which is refused later
    return static_cast<int64_t>(std::clamp(std::nearbyint(pixels / ratio), 1.0, kMost));
  };
  return {side(height * taller), side(width * wider)};
}

RandomShortestSizeStep::RandomShortestSizeStep(const AttributeMap& attributes)
    : lengths(attributes.Get<Ints>("min_size")),
      most(attributes.Get<int32_t>("max_size")),
      resize(ResizeOf(attributes)) {
  Require(!lengths.empty(), "attribute 'min_size' has no length");
}

ImageSize RandomShortestSizeStep::Of(const ImageShape& shape, const RandomKey& key,
                                     uint64_t i) const {
  const double length = lengths[key.Below(lengths.size(), i, 0)];
  const auto [shorter, longer] = std::minmax({shape.height, shape.width});
  double factor = length / static_cast<double>(shorter);
  if (most > 0) factor = std::min(factor, most / static_cast<double>(longer));
  return ScaledSize(shape, factor);
}

RandomResizedCropStep::RandomResizedCropStep(const AttributeMap& attributes)
    : resize(ResizeOf(attributes)) {
  const ImageSize size = ImageSizeOf(attributes);
  resize.height = size.height;
  resize.width = size.width;
  const auto range = [&](const char* name) {
    const auto& values = attributes.Get<Floats>(name);
    Require(values.size() == 2 && values[0] > 0 && values[0] <= values[1] && values[1] < 1e9f,
            "attribute '", name, "' is not [lowest, highest], both above 0");
    return std::pair<double, double>(values[0], values[1]);
  };
  std::tie(low_scale, high_scale) = range("scale");
  std::tie(low_ratio, high_ratio) = range("ratio");
}

Box RandomResizedCropStep::Of(const ImageShape& shape, const RandomKey& key, uint64_t i) const {
  constexpr uint64_t kAttempts = 10;
  constexpr uint64_t kDraws = 4;  // of one attempt
  const auto area = static_cast<double>(shape.height * shape.width);
  for (uint64_t draw = 0; draw < kAttempts * kDraws; draw += kDraws) {
    const auto between = [&](uint64_t number, double low, double high) {
      return low + (high - low) * ToUnitDouble(key.Bits(i, draw + number));
    };
    const double target = area * between(0, low_scale, high_scale);
    const double ratio = std::exp(between(1, std::log(low_ratio), std::log(high_ratio)));
    const double width = std::nearbyint(std::sqrt(target * ratio));
    const double height = std::nearbyint(std::sqrt(target / ratio));
    if (width < 1 || height < 1 || width > static_cast<double>(shape.width) ||
        height > static_cast<double>(shape.height)) {
      continue;
    }
    Box box;
    box.width = static_cast<int64_t>(width);
    box.height = static_cast<int64_t>(height);
    box.y = static_cast<int64_t>(
        key.Below(static_cast<uint64_t>(shape.height - box.height + 1), i, draw + 2));
    box.x = static_cast<int64_t>(
        key.Below(static_cast<uint64_t>(shape.width - box.width + 1), i, draw + 3));
    return box;
  }
  // The largest part in the middle whose ratio is allowed.
  const auto width = static_cast<double>(shape.width), height = static_cast<double>(shape.height);
  Box box{0, 0, shape.width, shape.height};
  if (width < height * low_ratio) {
    box.height = static_cast<int64_t>(std::nearbyint(width / low_ratio));
  } else if (width > height * high_ratio) {
    box.width = static_cast<int64_t>(std::nearbyint(height * high_ratio));
  }
  box.height = std::clamp<int64_t>(box.height, 1, shape.height);
  box.width = std::clamp<int64_t>(box.width, 1, shape.width);
  box.y = (shape.height - box.height) / 2;
  box.x = (shape.width - box.width) / 2;
  return box;
}

DecodeStep::DecodeStep(const AttributeMap& attributes)
    : mode(PlaceOf<DecodeMode>(attributes.Get<std::string>("mode"), Modes())),
      channels(attributes.Get<int32_t>("channels")),
      orient(attributes.Get<bool>("orientation")),
      partial(attributes.Get<bool>("partial")),
      max_pixels(attributes.Get<int64_t>("max_pixels")),
      exact(attributes.Get<bool>("exact")) {}

ImageShape DecodeStep::ShapeOf(const ImageHeader& header) const {
  ImageShape shape = Upright(header.stored, OrientationOf(header));
  shape.channels = ChannelsOf(header);
  Require(mode != DecodeMode::k16Bits || shape.channels == header.stored.channels,
          "attribute 'channels' asks for ", shape.channels, ", but the image has ",
          header.stored.channels, ", and values of 16 bits are given as they are");
  return shape;
}

FlipStep::FlipStep(const AttributeMap& attributes)
    : horizontal(attributes.Get<std::string>("axis") == "horizontal"),
      p(attributes.Get<float>("p")) {}

NormalizeStep::NormalizeStep(const AttributeMap& attributes) {
  const auto& mean = attributes.Get<Floats>("mean");
  const auto& deviation = attributes.Get<Floats>("std");
  Require(!mean.empty() && !deviation.empty(),
          "attributes 'mean' and 'std' have one value for all channels, or one for each");
  Require(mean.size() == 1 || deviation.size() == 1 || mean.size() == deviation.size(),
          "attribute 'mean' has ", mean.size(), " values, 'std' ", deviation.size());
  const auto scale = static_cast<double>(attributes.Get<float>("scale"));
  for (size_t i = 0; i < std::max(mean.size(), deviation.size()); ++i) {
    const double by = deviation[deviation.size() == 1 ? 0 : i];
    Require(by > 0, "attribute 'std' has the value ", by, "; each must be above 0");
    factors.push_back(static_cast<float>(scale / by));
    offsets.push_back(
        static_cast<float>(-static_cast<double>(mean[mean.size() == 1 ? 0 : i]) / by));
  }
}

void NormalizeStep::Check(int64_t channels) const {
  Require(factors.size() == 1 || factors.size() == static_cast<size_t>(channels),
          "attributes 'mean' and 'std' have ", factors.size(), " values for ", channels,
          " channels");
}

}  // namespace millhopper
