// SPDX-License-Identifier: Apache-2.0
// random_zoom_out: an image somewhere on a larger one.
#include <algorithm>
#include <vector>

#include "framework/base/attribute.h"
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
        mask_fill(static_cast<float>(MaskFillOf(attributes))) {
    RequireProbability(attributes);
    Require(sides.size() == 2 && sides[0] >= 1 && sides[0] <= sides[1] && sides[1] <= 1000,
            "attribute 'side_range' is the least and the most that sides grow by, from 1 on");
    Require(!fill.empty() && fill.size() <= 4, "attribute 'fill' has ", fill.size(),
            " values; it is one, or one for each channel");
  }

  const float p;
  const Floats sides, fill;
  const float mask_fill;
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

// Throws kInvalidArgument unless images of the type hold the fill, for each of the channels.
void RequireFill(const OpContext& context, const char* parameter, const Floats& fill) {
  for (size_t i = 0; i < context.InCount(parameter); ++i) {
    const LoDTensor& images = context.In(parameter, i);
    const auto channels = static_cast<size_t>(images.dims()[3]);
    if (fill.size() != 1 && fill.size() != channels) {
      ThrowUnfit(
          context, parameter,
          StrCat("it has ", channels, " channels, and attribute 'fill' ", fill.size(), " values"),
          i);
    }
    const float most = images.dtype() == DataType::kUint8 ? 255 : 65535;
    const bool fits = images.dtype() == DataType::kFp32 ||
                      std::all_of(fill.begin(), fill.end(),
                                  [&](float value) { return value >= 0 && value <= most; });
    if (!fits) ThrowUnfit(context, parameter, "the fill is no value of this type", i);
  }
}

void Run(OpContext& context) {
  const ImageShape image = ShapeOfImages(context);
  Require(context.In("X").dims()[0] == 1, "there are ", context.In("X").dims()[0],
          " images, which would be of several sizes; zoom out before images are batched");
  const Settings settings(context.attributes());
  const Box canvas = CanvasOf(settings, image, ImageKey(context));
  MovedImages(context);  // throws unless all are images
  RequireFill(context, "X", settings.fill);
  RequireFill(context, "Masks", {settings.mask_fill});
  MovePlaces(context, canvas.height, canvas.width,
             [&](uint64_t) { return MapOfPart(canvas, canvas.height, canvas.width); });
  const Floats mask_fill{settings.mask_fill};
  MoveImages(context, canvas.height, canvas.width, [&](uint64_t, auto from, auto to, bool is_mask) {
    using T = std::decay_t<decltype(*to.values)>;
    const Floats& fill = is_mask ? mask_fill : settings.fill;
    const int64_t channels = to.shape.channels;
    for (int64_t y = 0; y < canvas.height; ++y) {
      T* const row = to.row(y);
      for (int64_t i = 0; i < canvas.width * channels; ++i) {
        row[i] = static_cast<T>(fill[static_cast<size_t>(i % channels) % fill.size()]);
      }
    }
    CopyPixels(from, to.Crop({-canvas.x, -canvas.y, image.width, image.height}));
  });
}

REGISTER_OPERATOR(random_zoom_out, Schema, Run);

}  // namespace
}  // namespace millhopper
