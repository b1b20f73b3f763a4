// SPDX-License-Identifier: Apache-2.0
// pad: images with more pixels around them.
#include <algorithm>
#include <string>
#include <vector>

#include "framework/base/attribute.h"
#include "operators/image/geometry/fills.h"
#include "operators/image/geometry/geometric.h"
#include "operators/image/image_argument.h"

namespace millhopper {
namespace {

using Ints = std::vector<int32_t>;
using Floats = std::vector<float>;

// Pixels around an image.
struct Padding {
  int64_t left, top, right, bottom;
};

Padding PaddingOf(const AttributeMap& attributes) {
  const auto& given = attributes.Get<Ints>("padding");
  Require(given.size() == 1 || given.size() == 2 || given.size() == 4, "attribute 'padding' has ",
          given.size(),
          " values; it is [all], [left and right, top and bottom] or "
          "[left, top, right, bottom]");
  const auto& least = attributes.Get<Ints>("least");
  Require(least.empty() || least.size() == 2, "attribute 'least' has ", least.size(),
          " values; it is [height, width]");
  const size_t n = given.size();
  return {given[0], given[1 % n], given[2 % n], given[3 % n]};
}

// The same, with what an image of this size lacks after it.
Padding PaddingOf(const AttributeMap& attributes, int64_t height, int64_t width) {
  Padding padding = PaddingOf(attributes);
  const auto& least = attributes.Get<Ints>("least");
  if (least.empty()) return padding;
  const auto& where = attributes.Get<std::string>("where");
  const auto add = [&](int64_t side, int64_t wanted, int64_t* before, int64_t* after) {
    const int64_t lacking = std::max<int64_t>(wanted - side - *before - *after, 0);
    if (where != "end") *before += where == "each" ? lacking : lacking / 2;
    *after += where == "center" ? lacking - lacking / 2 : lacking;
  };
  add(height, least[0], &padding.top, &padding.bottom);
  add(width, least[1], &padding.left, &padding.right);
  return padding;
}

// What is left of an image of which padding below 0 cuts off some.
Box KeptOf(const Padding& padding, int64_t height, int64_t width) {
  const auto cut = [](int64_t pixels) { return std::max<int64_t>(-pixels, 0); };
  const Box kept{cut(padding.left), cut(padding.top),
                 width - cut(padding.left) - cut(padding.right),
                 height - cut(padding.top) - cut(padding.bottom)};
  Require(kept.width >= 0 && kept.height >= 0, "an image of ", height, " x ", width,
          " pixels has not as many as attribute 'padding' cuts off");
  return kept;
}

OpSchema Schema() {
  OpSchema schema =
      GeometricSchema("Each image with more pixels around it, as torchvision's Pad, or with fewer.",
                      "[N, top + H + bottom, left + W + right, C], type of X; may "
                      "be X");
  return WithMaskFill(schema)
      .Attr({"padding", Ints{0},
             "[all], [left and right, top and bottom] or [left, top, right, "
             "bottom]; below 0: so many pixels are cut off there"})
      .Attr(AttributeSchema("least", Ints{},
                            "[height, width] that images have at least: where one is smaller with "
                            "its padding, what it lacks is added")
                .AtLeast(1))
      .Attr(AttributeSchema("where", std::string("each"),
                            "each: what an image lacks is added on each side, as by torchvision's "
                            "RandomCrop with pad_if_needed; center: half of it on each side, the "
                            "rest after it; end: all of it on the right and at the bottom")
                .OneOf({"each", "center", "end"}))
      .Attr(AttributeSchema("mode", std::string("constant"),
                            "what the new pixels are: `fill`; the nearest pixel (edge); the image "
                            "mirrored at its first and last pixel, which are not repeated "
                            "(reflect), or are (symmetric)")
                .OneOf({"constant", "edge", "reflect", "symmetric"}))
      .Attr({"fill", 0.0f, "the value of new pixels; of uint8 from 0 to 255, of uint16 to 65535"})
      .Attr({"fills", Floats{}, "in place of `fill`: one for each channel"})
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        PaddingOf(attributes);
        MaskFillOf(attributes);
      })
      .Infer([](InferContext& context) {
        Dims dims = InferImages(context);
        const Padding padding = PaddingOf(context.attributes(), dims[1], dims[2]);
        if (dims[1] >= 0 && dims[2] >= 0) KeptOf(padding, dims[1], dims[2]);
        if (dims[1] >= 0) dims[1] = std::max<int64_t>(dims[1] + padding.top + padding.bottom, 0);
        if (dims[2] >= 0) dims[2] = std::max<int64_t>(dims[2] + padding.left + padding.right, 0);
        InferMoved(context, dims[1], dims[2]);
      });
}

// The pixel of `size` that is seen at a place, which may lie outside.
int64_t PixelAt(int64_t place, int64_t size, const std::string& mode) {
  if (place >= 0 && place < size) return place;
  if (mode == "edge") return std::clamp<int64_t>(place, 0, size - 1);
  if (mode == "reflect") return place < 0 ? -place : 2 * (size - 1) - place;
  return place < 0 ? -1 - place : 2 * size - 1 - place;
}

// Throws unless an image of this size has the pixels that `mode` puts around it.
void RequireMirrors(const Padding& padding, const Box& image, const std::string& mode) {
  if (mode == "constant") return;
  const int64_t across = std::max(padding.left, padding.right);
  const int64_t down = std::max(padding.top, padding.bottom);
  const int64_t beyond = mode == "reflect" ? 1 : 0;
  Require(image.height > 0 && image.width > 0,
          "an image without pixels can be padded with a constant only");
  Require(mode == "edge" || (across + beyond <= image.width && down + beyond <= image.height),
          "an image of ", image.height, " x ", image.width, " pixels cannot be mirrored for ", down,
          " more rows and ", across, " more columns");
}

void Run(OpContext& context) {
  const ImageShape shape = ShapeOfImages(context);
  const Padding padding = PaddingOf(context.attributes(), shape.height, shape.width);
  const Box kept = KeptOf(padding, shape.height, shape.width);
  const int64_t left = std::max<int64_t>(padding.left, 0), top = std::max<int64_t>(padding.top, 0);
  const auto& mode = context.Attr<std::string>("mode");
  RequireMirrors(padding, kept, mode);
  const auto& fills = context.Attr<Floats>("fills");
  const Fill fill = fills.empty() ? Fill{context.Attr<float>("fill")} : fills;
  RequireFill(context, "X", fill, fills.empty() ? "fill" : "fills");
  const Fill mask_fill{static_cast<float>(MaskFillOf(context.attributes()))};
  RequireFill(context, "Masks", mask_fill, "mask_fill");
  const int64_t height = padding.top + shape.height + padding.bottom;
  const int64_t width = padding.left + shape.width + padding.right;
  MovePlaces(context, height, width, [&](uint64_t) {
    return MapOfPart({-padding.left, -padding.top, width, height}, height, width);
  });
  MoveImages(context, height, width, [&](uint64_t, auto whole, auto to, bool is_mask) {
    const auto from = whole.Crop(kept);
    if (mode == "constant") {
      FillPixels(is_mask ? mask_fill : fill, to);
      CopyPixels(from, to.Crop({left, top, kept.width, kept.height}));
      return;
    }
    const int64_t channels = from.shape.channels;
    for (int64_t y = 0; y < height; ++y) {
      const int64_t from_y = PixelAt(y - top, kept.height, mode);
      auto* pixel = to.row(y);
      for (int64_t x = 0; x < width; ++x, pixel += channels) {
        const int64_t from_x = PixelAt(x - left, kept.width, mode);
        std::copy_n(from.row(from_y) + from_x * channels, channels, pixel);
      }
    }
  });
}

REGISTER_OPERATOR(pad, Schema, Run);

}  // namespace
}  // namespace millhopper
