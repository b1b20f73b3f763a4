// SPDX-License-Identifier: Apache-2.0
// perspective: images seen from another side, which is drawn or given.
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "framework/base/attribute.h"
#include "operators/image/geometry/warped_images.h"
#include "operators/image/image_argument.h"
#include "operators/image/image_draws.h"

namespace millhopper {
namespace {

// What the attributes ask for.
struct PerspectiveStep {
  explicit PerspectiveStep(const AttributeMap& attributes)
      : distortion(attributes.Get<float>("distortion_scale")), p(attributes.Get<float>("p")) {
    RequireProbability(attributes);
    Require(distortion >= 0 && distortion <= 1, "attribute 'distortion_scale' is ", distortion,
            "; it is from 0 to 1");
    const std::optional<Quadrilateral> from = CornersOf(attributes, "startpoints");
    const std::optional<Quadrilateral> to = CornersOf(attributes, "endpoints");
    Require(from.has_value() == to.has_value(),
            "attributes 'startpoints' and 'endpoints' are given together, or neither");
    if (!from) return;
    given = ProjectionOf(*to, *from);
    Require(given.has_value(),
            "attributes 'startpoints' and 'endpoints' are corners of quadrilaterals; three of "
            "them lie on a line");
  }

  static std::optional<Quadrilateral> CornersOf(const AttributeMap& attributes, const char* name) {
    const auto& numbers = attributes.Get<std::vector<float>>(name);
    if (numbers.empty()) return std::nullopt;
    Require(numbers.size() == 8, "attribute '", name, "' has ", numbers.size(),
            " values; it is {x, y} of four corners: upper left, upper right, lower right, lower "
            "left");
    Quadrilateral corners;
    for (size_t i = 0; i < 4; ++i) {
      corners[i] = {double{numbers[2 * i]}, double{numbers[2 * i + 1]}};
      Require(std::isfinite(corners[i].x) && std::isfinite(corners[i].y), "attribute '", name,
              "' has a number that is not finite");
    }
    return corners;
  }

  // Where the pixels of image i are taken from.
  Projection InverseFor(const RandomKey& key, uint64_t i, const ImageShape& shape) const {
    if (!(ToUnitFloat(key.Bits(i, 0)) < p)) return {};
    if (given) return *given;
    const auto most = [&](int64_t side) {
      const int64_t half = side / 2;
      return static_cast<int64_t>(distortion * static_cast<double>(half));
    };
    const int64_t most_x = most(shape.width), most_y = most(shape.height);
    const int64_t right = shape.width - 1, bottom = shape.height - 1;
    const auto drawn = [&](uint64_t draw, int64_t side) {
      return static_cast<double>(key.Below(static_cast<uint64_t>(side) + 1, i, draw));
    };
    const auto place = [](int64_t x, int64_t y) {
      return ImagePoint{static_cast<double>(x), static_cast<double>(y)};
    };
    const Quadrilateral corners = {place(0, 0), place(right, 0), place(right, bottom),
                                   place(0, bottom)};
    Quadrilateral moved = corners;
    for (size_t k = 0; k < 4; ++k) {
      const double x = drawn(1 + 2 * k, most_x), y = drawn(2 + 2 * k, most_y);
      moved[k].x += corners[k].x > 0 ? -x : x;
      moved[k].y += corners[k].y > 0 ? -y : y;
    }
    return ProjectionOf(moved, corners).value_or(Projection{});
  }

  double distortion;
  float p;
  std::optional<Projection> given;
};

OpSchema Schema() {
  OpSchema schema = WarpSchema(
      "Each image seen from another side, with probability p: if draw 0, a number in [0, 1) of 24 "
      "bits, is below p. The corners `startpoints` go to `endpoints`, as in torchvision's "
      "perspective. Without them, those of the image, (0, 0), (W - 1, 0), (W - 1, H - 1) and (0, H "
      "- 1), move inwards as in its RandomPerspective: corner k of these, from 0, by draw 1 + 2k "
      "along x, below floor(distortion_scale * floor(W / 2)) + 1, and by draw 2 + 2k along y, "
      "below the same of H. An image of which three corners would lie on a line stays. The size "
      "stays; for the pixels see rotate. X is uint8 with 1 or 3 channels and at most 2^20 pixels "
      "each way.");
  const std::vector<float> none;
  const char* const kCorners =
      "{x, y} of four corners, in pixels from the upper left: upper left, upper right, lower "
      "right, lower left; drawn if there are none";
  schema.Attr({"distortion_scale", 0.5f, "how far corners move at most, from 0 to 1"})
      .Attr({"p", 1.0f, "probability, from 0 to 1"})
      .Attr({"startpoints", none, kCorners})
      .Attr({"endpoints", none, kCorners});
  return schema
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        PerspectiveStep{attributes};
        CheckWarp(attributes);
      })
      .Infer([](InferContext& context) { InferWarped(context, kProjectionRows); });
}

void Run(OpContext& context) {
  const ImageShape shape = ShapeOfImages(context);
  const PerspectiveStep step(context.attributes());
  const RandomKey key = ImageKey(context);
  WarpImages(context, shape.height, shape.width,
             [&](uint64_t i) { return step.InverseFor(key, i, shape); });
}

REGISTER_OPERATOR(perspective, Schema, Run);

}  // namespace
}  // namespace millhopper
