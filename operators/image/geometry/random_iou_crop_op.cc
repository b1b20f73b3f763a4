// SPDX-License-Identifier: Apache-2.0
// random_iou_crop: a part of an image that has enough of its boxes.
#include <algorithm>
#include <optional>
#include <vector>

#include "framework/base/attribute.h"
#include "operators/image/geometry/boxes.h"
#include "operators/image/geometry/geometric.h"
#include "operators/image/image_argument.h"

namespace millhopper {
namespace {

using Floats = std::vector<float>;

constexpr uint64_t kMostOptions = 100;  // that are drawn, of which none need let a part through

struct Settings {
  explicit Settings(const AttributeMap& attributes)
      : scale(attributes.Get<Floats>("scale")),
        ratio(attributes.Get<Floats>("ratio")),
        overlaps(attributes.Get<Floats>("min_overlaps")),
        trials(static_cast<uint64_t>(attributes.Get<int32_t>("trials"))) {
    Require(scale.size() == 2 && scale[0] > 0 && scale[0] <= scale[1] && scale[1] <= 1,
            "attribute 'scale' is a part of the sides at least and at most, above 0, to 1");
    Require(ratio.size() == 2 && ratio[0] > 0 && ratio[0] <= ratio[1],
            "attribute 'ratio' is the lowest and the highest width over height, above 0");
    Require(trials <= 10000, "attribute 'trials' is ", trials, "; it is at most 10000");
    Require(!overlaps.empty(), "attribute 'min_overlaps' is empty; 1 leaves an image as it is");
  }

  const Floats scale, ratio, overlaps;
  const uint64_t trials;
};

OpSchema Schema() {
  OpSchema schema = WithDraws(GeometricSchema(
      "A part of each image that a box of it overlaps enough, as SSD is trained: torchvision's "
      "RandomIoUCrop. One of `min_overlaps` is drawn; if it is 1 or more, the image is left as it "
      "is. Otherwise parts are drawn until one has the middle of a box and an overlap "
      "(intersection over union) of that much with one of those whose middle it has; after "
      "`trials` parts, another one of `min_overlaps` is drawn, 100 at most. An image without boxes "
      "is left as it is. Boxes whose middle is outside become 0, 0, 0, 0, which sanitize_boxes "
      "leaves out with their labels. Of option k, draw k(1 + 4 trials) is its place in the list; "
      "its part t takes the four draws from there + 1 + 4t on: width, height, left, top, each with "
      "24 bits. One image at a time, N = 1, and one Boxes.",
      "[1, height, width, C] of the part, type of X; may be X"));
  return schema
      .Attr(
          {"scale", Floats{0.3f, 1.0f}, "the shortest and the longest side over that of the image"})
      .Attr({"ratio", Floats{0.5f, 2.0f}, "the lowest and the highest width over height"})
      .Attr({"min_overlaps", Floats{0.0f, 0.1f, 0.3f, 0.5f, 0.7f, 0.9f, 1.0f},
             "one of these is the least overlap; 1 or more leaves the image as it is"})
      .Attr(AttributeSchema("trials", int32_t{40},
                            "parts that are drawn for one of them, at most 10000")
                .AtLeast(1))
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) { Settings{attributes}; })
      .Infer([](InferContext& context) {
        Require(context.InCount("Boxes") == 1, "one argument of input 'Boxes' is needed");
        InferMoved(context, -1, -1);
      });
}

// A box by its sides, in the type that the boxes have, so that what is compared is rounded alike.
template <typename T>
struct Sides {
  T left, top, right, bottom;

  T area() const { return (right - left) * (bottom - top); }
};

template <typename T>
std::vector<Sides<T>> SidesOf(const OpContext& context, const ImageShape& image) {
  const BoxNotation notation = BoxNotationOf(context.attributes());
  const LoDTensor& boxes = context.In("Boxes");
  const T* values = boxes.data<T>();
  std::vector<Sides<T>> sides;
  for (uint64_t i = 0; i < boxes.rows(); ++i, values += 4) {
    double numbers[4];
    std::copy_n(values, 4, numbers);
    const Corners box = notation.Read(numbers, image);
    sides.push_back({static_cast<T>(box.left), static_cast<T>(box.top), static_cast<T>(box.right),
                     static_cast<T>(box.bottom)});
  }
  return sides;
}

template <typename T>
bool HasMiddle(const Box& part, const Sides<T>& box) {
  const T x = T{0.5} * (box.left + box.right), y = T{0.5} * (box.top + box.bottom);
  return static_cast<T>(part.x) < x && x < static_cast<T>(part.x + part.width) &&
         static_cast<T>(part.y) < y && y < static_cast<T>(part.y + part.height);
}

// Intersection over union; NaN counts as enough, as it is not less than any number.
template <typename T>
T OverlapOf(const Box& part, const Sides<T>& box) {
  const Sides<T> sides{static_cast<T>(part.x), static_cast<T>(part.y),
                       static_cast<T>(part.x + part.width), static_cast<T>(part.y + part.height)};
  const T width = std::max(T{0}, std::min(box.right, sides.right) - std::max(box.left, sides.left));
  const T height =
      std::max(T{0}, std::min(box.bottom, sides.bottom) - std::max(box.top, sides.top));
  const T both = width * height;
  return both / (box.area() + sides.area() - both);
}

// A part of these four draws; nothing if its ratio is not allowed or it has no pixels.
std::optional<Box> PartOf(const Settings& settings, const ImageShape& image, const RandomKey& key,
                          uint64_t draw) {
  const auto number = [&](uint64_t i) { return ToUnitFloat(key.Bits(0, draw + i)); };
  const auto side = [&](int64_t whole, uint64_t i) {
    const float part = settings.scale[0] + (settings.scale[1] - settings.scale[0]) * number(i);
    return static_cast<int64_t>(static_cast<float>(whole) * part);
  };
  Box part;
  part.width = side(image.width, 0), part.height = side(image.height, 1);
  if (part.width == 0 || part.height == 0) return std::nullopt;
  const double ratio = static_cast<double>(part.width) / static_cast<double>(part.height);
  if (ratio < settings.ratio[0] || ratio > settings.ratio[1]) return std::nullopt;
  part.x = static_cast<int64_t>(static_cast<float>(image.width - part.width) * number(2));
  part.y = static_cast<int64_t>(static_cast<float>(image.height - part.height) * number(3));
  return part;
}

// The part that is kept; nothing if the image is left as it is.
template <typename T>
std::optional<Box> Draw(const Settings& settings, const ImageShape& image, const RandomKey& key,
                        const std::vector<Sides<T>>& boxes) {
  if (boxes.empty()) return std::nullopt;
  const uint64_t draws = 1 + 4 * settings.trials;
  for (uint64_t option = 0; option < kMostOptions; ++option) {
    const uint64_t first = option * draws;
    const float least = settings.overlaps[key.Below(settings.overlaps.size(), 0, first)];
    if (least >= 1) return std::nullopt;
    for (uint64_t trial = 0; trial < settings.trials; ++trial) {
      const std::optional<Box> part = PartOf(settings, image, key, first + 1 + 4 * trial);
      if (!part) continue;
      const bool is_enough = std::any_of(boxes.begin(), boxes.end(), [&](const Sides<T>& box) {
        return HasMiddle(*part, box) && !(OverlapOf(*part, box) < static_cast<T>(least));
      });
      if (is_enough) return part;
    }
  }
  return std::nullopt;
}

void Run(OpContext& context) {
  const ImageShape image = ShapeOfImages(context);
  Require(context.In("X").dims()[0] == 1, "there are ", context.In("X").dims()[0],
          " images, whose parts would be of several sizes; draw one before images are batched");
  Require(context.InCount("Boxes") == 1, "one argument of input 'Boxes' is needed");
  RequireBoxes(context, "Boxes", 0);
  const Settings settings(context.attributes());
  const RandomKey key = ImageKey(context);
  VisitType(FloatTypes(), context.In("Boxes").dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::vector<Sides<T>> boxes = SidesOf<T>(context, image);
    const std::optional<Box> drawn = Draw(settings, image, key, boxes);
    const Box part = drawn.value_or(Box{0, 0, image.width, image.height});
    MovePlaces(context, part.height, part.width,
               [&](uint64_t) { return MapOfPart(part, part.height, part.width); });
    T* moved = context.Out("OutBoxes")->template mutable_data<T>();
    for (size_t i = 0; i < boxes.size() && drawn; ++i) {
      if (!HasMiddle(part, boxes[i])) std::fill_n(moved + 4 * i, 4, T{0});
    }
    MoveImages(context, part.height, part.width,
               [&](uint64_t, auto from, auto to, bool) { CopyPixels(from.Crop(part), to); });
  });
}

REGISTER_OPERATOR(random_iou_crop, Schema, Run);

}  // namespace
}  // namespace millhopper
