// SPDX-License-Identifier: Apache-2.0
// random_zoom_out: an image somewhere on a larger one.
#include <vector>

#include "framework/base/attribute.h"
#include "operators/image/geometry/fills.h"
#include "operators/image/geometry/geometric.h"
#include "operators/image/image_argument.h"
#include "operators/image/image_draws.h"

namespace millhopper {
namespace {

using Floats = std::vector<float>;

struct Settings {
  explicit Settings(const AttributeMap& attributes)
      : p(attributes.Get<float>("p")),
        sides(attributes.Get<Floats>("side_range")),
        fill(attributes.Get<Floats>("fill")),
        mask_fill{static_cast<float>(MaskFillOf(attributes))} {
    RequireProbability(attributes);
    Require(sides.size() == 2 && sides[0] >= 1 && sides[0] <= sides[1] && sides[1] <= 1000,
            "attribute 'side_range' is the least and the most that sides grow by, from 1 on");
    Require(!fill.empty() && fill.size() <= 4, "attribute 'fill' has ", fill.size(),
            " values; it is one, or one for each channel");
  }

  const float p;
  const Floats sides;
  const Fill fill, mask_fill;
};

OpSchema Schema() {
  OpSchema schema = WithDraws(GeometricSchema(
      "With probability p each image somewhere on a larger one, so that what is in it is small: "
      "torchvision's RandomZoomOut. Draw 0 is below p if so; draw 1 says how much longer both "
      "sides are, draws 2 and 3 where the image lies, left and top, each with 24 bits. One image "
      "at a time, N = 1.",
      "[1, height, width, C], type of X; may be X"));
  return WithMaskFill(schema)
      .Attr({"p", 0.5f, "how often"})
      .Attr({"side_range", Floats{1.0f, 4.0f}, "the least and the most that sides grow by"})
      .Attr({"fill", Floats{0.0f},
             "the value of new pixels, or one for each channel; of uint8 from 0 to 255, of uint16 "
             "to 65535"})
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) { Settings{attributes}; })
      .Infer([](InferContext& context) { InferMoved(context, -1, -1); });
}

// The larger image, as a part of which the given one lies at 0, 0.
Box CanvasOf(const Settings& settings, const ImageShape& image, const RandomKey& key) {
  const auto number = [&](uint64_t draw) { return ToUnitFloat(key.Bits(0, draw)); };
  if (!(number(0) < settings.p)) return {0, 0, image.width, image.height};
  const float grown = settings.sides[0] + number(1) * (settings.sides[1] - settings.sides[0]);
  Box canvas;
  canvas.width = static_cast<int64_t>(static_cast<float>(image.width) * grown);
  canvas.height = static_cast<int64_t>(static_cast<float>(image.height) * grown);
  canvas.x = -static_cast<int64_t>(static_cast<float>(canvas.width - image.width) * number(2));
  canvas.y = -static_cast<int64_t>(static_cast<float>(canvas.height - image.height) * number(3));
  return canvas;
}

void Run(OpContext& context) {
  const ImageShape image = ShapeOfImages(context);
  Require(context.In("X").dims()[0] == 1, "there are ", context.In("X").dims()[0],
          " images, which would be of several sizes; zoom out before images are batched");
  const Settings settings(context.attributes());
  const Box canvas = CanvasOf(settings, image, ImageKey(context));
  MovedImages(context);  // throws unless all are images
  RequireFill(context, "X", settings.fill, "fill");
  RequireFill(context, "Masks", settings.mask_fill, "mask_fill");
  MovePlaces(context, canvas.height, canvas.width,
             [&](uint64_t) { return MapOfPart(canvas, canvas.height, canvas.width); });
  MoveImages(context, canvas.height, canvas.width, [&](uint64_t, auto from, auto to, bool is_mask) {
    FillPixels(is_mask ? settings.mask_fill : settings.fill, to);
    CopyPixels(from, to.Crop({-canvas.x, -canvas.y, image.width, image.height}));
  });
}

REGISTER_OPERATOR(random_zoom_out, Schema, Run);

}  // namespace
}  // namespace millhopper
