// SPDX-License-Identifier: Apache-2.0
// mosaic: four images around a place of a larger one.
#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "framework/base/attribute.h"
#include "operators/image/geometry/fills.h"
#include "operators/image/geometry/geometric.h"
#include "operators/image/image_draws.h"
#include "operators/image/records/records.h"

namespace millhopper {
namespace {

using Floats = std::vector<float>;

constexpr size_t kRecords = 4;

struct Settings {
  explicit Settings(const AttributeMap& attributes)
      : p(attributes.Get<float>("p")),
        centre(attributes.Get<Floats>("centre_range")),
        fill(attributes.Get<Fill>("fill")),
        mask_fill{static_cast<float>(MaskFillOf(attributes))} {
    RequireProbability(attributes);
    const auto& size = attributes.Get<std::vector<int32_t>>("size");
    Require(size.size() == 2, "attribute 'size' has ", size.size(),
            " values; it is [height, width] of a quarter");
    height = 2 * int64_t{size[0]};
    width = 2 * int64_t{size[1]};
    Require(centre.size() == 2 && centre[0] >= 0 && centre[0] <= centre[1] && centre[1] <= 2,
            "attribute 'centre_range' is the least and the most that the centre is away from the "
            "upper left corner, in parts of size, from 0 to 2");
    Require(!fill.empty() && fill.size() <= 4, "attribute 'fill' has ", fill.size(),
            " values; it is one, or one for each channel");
    CheckPixels(height, width);
  }

  const float p;
  const Floats centre;
  const Fill fill, mask_fill;
  int64_t height, width;  // of Out
};

OpSchema Schema() {
  OpSchema schema = RecordsSchema(
      "Four images around a place of one that is twice as high and wide as `size`, as YOLO's "
      "mosaic: the lower right corner of the first, the lower left of the second, the upper right "
      "of the third and the upper left of the fourth lie there, and what is beyond Out is cut off. "
      "Images are not resized: `resize` makes them fit `size` before. Boxes move along, also out "
      "of Out: sanitize_boxes clips them and leaves out those of which too little is left. With p "
      "below 1, Out is the first image where draw 0 is not below p; the place is the whole number "
      "below side x (low + (high - low) x draw), by draw 1 across and draw 2 down (Source: "
      "Bochkovskiy et al., \"YOLOv4\", 2020; Mosaic of mmdetection).",
      kRecords, "[1, 2 height, 2 width, C], type of X, or the first image",
      "images of the same size whose values are not mixed: one for each image, or with a level of "
      "detail those of its objects");
  return WithMaskFill(schema)
      .Attr(AttributeSchema("size", std::vector<int32_t>{}, "[height, width] of a quarter of Out")
                .Required()
                .AtLeast(1))
      .Attr({"centre_range", Floats{0.5f, 1.5f},
             "the least and the most that the place is away from the upper left corner, in parts "
             "of size"})
      .Attr({"fill", Fill{114.0f}, "the value of pixels that no image covers, or one a channel"})
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) { Settings{attributes}; })
      .Infer([](InferContext& context) {
        const Settings settings(context.attributes());
        const bool always = settings.p >= 1;
        InferRecords(context, kRecords, always ? settings.height : -1,
                     always ? settings.width : -1);
      });
}

// Where the images lie on Out: their upper left corners, which may be outside.
struct Layout {
  Layout(const OpContext& context, const Settings& settings, const RandomKey& key)
      : shape{settings.height, settings.width, ShapeOfImages(context).channels} {
    const auto place = [&](uint64_t draw, int64_t half) {
      const double low = settings.centre[0], high = settings.centre[1];
      const double part = low + (high - low) * ToUnitDouble(key.Bits(0, draw));
      return static_cast<int64_t>(static_cast<double>(half) * part);
    };
    const int64_t x = place(1, shape.width / 2), y = place(2, shape.height / 2);
    for (size_t i = 0; i < kRecords; ++i) {
      const ImageShape image = ShapeOfImages(context, "X", i);
      left[i] = i % 2 == 0 ? x - image.width : x;
      top[i] = i < 2 ? y - image.height : y;
    }
  }

  // The part of image i that is seen.
  Box SeenOf(size_t i, const ImageShape& image) const {
    const auto begin = [](int64_t offset, int64_t side) {
      return std::clamp<int64_t>(-offset, 0, side);
    };
    Box box{begin(left[i], image.width), begin(top[i], image.height), 0, 0};
    box.width = std::max<int64_t>(std::min(image.width, shape.width - left[i]) - box.x, 0);
    box.height = std::max<int64_t>(std::min(image.height, shape.height - top[i]) - box.y, 0);
    return box;
  }

  // Copies what is seen of image i to its place.
  template <typename T>
  void Lay(size_t i, const PixelsOf<const T>& from, const PixelsOf<T>& to) const {
    const Box seen = SeenOf(i, from.shape);
    if (seen.width == 0 || seen.height == 0) return;
    CopyPixels(from.Crop(seen),
               to.Crop({seen.x + left[i], seen.y + top[i], seen.width, seen.height}));
  }

  const ImageShape shape;  // of Out
  int64_t left[kRecords], top[kRecords];
};

void LayImages(OpContext& context, const Settings& settings, const Layout& layout) {
  std::vector<LoDTensor> images;  // that share the values, since Out may be one of them
  for (size_t i = 0; i < kRecords; ++i) images.push_back(context.In("X", i));
  VisitType(ImageTypes(), images[0].dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const ImageShape& shape = layout.shape;
    T* const values =
        context.Out("Out")->Allocate<T>({1, shape.height, shape.width, shape.channels});
    const PixelsOf<T> to = Contiguous(values, shape);
    FillPixels(settings.fill, to);
    for (size_t i = 0; i < kRecords; ++i) layout.Lay(i, ImageOf<T>(images[i], 0), to);
  });
}

// One mask of those of the images, or all masks of objects, each at the place of its image.
LoDTensor LaidMasks(const OpContext& context, const Settings& settings, const Layout& layout,
                    size_t argument) {
  std::vector<LoDTensor> masks;
  int64_t objects = 0;
  for (size_t i = 0; i < kRecords; ++i) {
    masks.push_back(context.In("Masks", ArgumentOf(context, "OutMasks", i, argument)));
    objects += masks[i].dims()[0];
    const bool fits = masks[i].dtype() == masks[0].dtype() &&
                      masks[i].dims()[3] == masks[0].dims()[3] &&
                      masks[i].lod().size() == masks[0].lod().size();
    if (!fits) ThrowUnfit(context, "Masks", "masks of all records are alike", argument);
  }
  const bool of_objects = !masks[0].lod().empty();
  const int64_t n = of_objects ? objects : 1;
  const ImageShape shape{layout.shape.height, layout.shape.width, masks[0].dims()[3]};
  Require(n == 0 || shape.height * shape.width <= kMostPixels / n, n, " masks of ", shape.height,
          " x ", shape.width, " pixels are more than ", kMostPixels, " together");
  LoDTensor made;
  VisitType(ImageTypes(), masks[0].dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* values = made.Allocate<T>({n, shape.height, shape.width, shape.channels});
    if (!of_objects) FillPixels(settings.mask_fill, Contiguous(values, shape));
    for (size_t i = 0; i < kRecords; ++i) {
      for (int64_t mask = 0; mask < masks[i].dims()[0]; ++mask) {
        const PixelsOf<T> to = Contiguous(values, shape);
        if (of_objects) FillPixels(settings.mask_fill, to);
        layout.Lay(i, ImageOf<T>(masks[i], mask), to);
        if (of_objects) values += shape.values();
      }
    }
  });
  if (of_objects) *made.mutable_lod_unchecked() = {LodLevel{0, static_cast<uint64_t>(n)}};
  return made;
}

// What belongs to the images, moved by function(i, values): `numbers` values at a time.
template <typename Function>
LoDTensor LaidPlaces(const OpContext& context, const char* input, const char* output,
                     size_t argument, Function function) {
  std::vector<LoDTensor> parts;
  for (size_t i = 0; i < kRecords; ++i) {
    parts.push_back(context.In(input, ArgumentOf(context, output, i, argument)));
    VisitType(FloatTypes(), parts[i].dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      const Dims& dims = parts[i].dims();
      const int64_t numbers = dims[dims.size() - 1];
      T* const values = parts[i].template mutable_data<T>();
      for (int64_t at = 0; at < parts[i].numel(); at += numbers) function(i, values + at);
    });
  }
  return Joined(context, input, argument, parts);
}

LoDTensor LaidBoxes(const OpContext& context, const Layout& layout, size_t argument) {
  const BoxNotation notation = BoxNotationOf(context.attributes());
  return LaidPlaces(context, "Boxes", "OutBoxes", argument, [&](size_t i, auto* values) {
    double numbers[4];
    std::copy_n(values, 4, numbers);
    Corners box = notation.Read(numbers, ShapeOfImages(context, "X", i));
    const auto left = static_cast<double>(layout.left[i]);
    const auto top = static_cast<double>(layout.top[i]);
    box = {box.left + left, box.top + top, box.right + left, box.bottom + top};
    notation.Write(box, layout.shape, numbers);
    for (int k = 0; k < 4; ++k)
      values[k] = static_cast<std::decay_t<decltype(*values)>>(numbers[k]);
  });
}

LoDTensor LaidPoints(const OpContext& context, const Layout& layout, size_t argument) {
  const bool relative = BoxNotationOf(context.attributes()).relative;
  return LaidPlaces(context, "Points", "OutPoints", argument, [&](size_t i, auto* values) {
    const ImageShape image = ShapeOfImages(context, "X", i);
    const auto move = [&](auto* value, int64_t before, int64_t after, int64_t offset) {
      const double place = *value * (relative ? static_cast<double>(before) : 1);
      *value = static_cast<std::decay_t<decltype(*value)>>(
          (place + static_cast<double>(offset)) / (relative ? static_cast<double>(after) : 1));
    };
    move(values, image.width, layout.shape.width, layout.left[i]);
    move(values + 1, image.height, layout.shape.height, layout.top[i]);
  });
}

void LayAll(OpContext& context, const Settings& settings, const Layout& layout) {
  std::vector<std::pair<LoDTensor*, LoDTensor>> made;  // all first: an output may be any input
  for (size_t i = 0; i < context.OutCount("OutMasks"); ++i) {
    made.emplace_back(context.Out("OutMasks", i), LaidMasks(context, settings, layout, i));
  }
  for (size_t i = 0; i < context.OutCount("OutBoxes"); ++i) {
    made.emplace_back(context.Out("OutBoxes", i), LaidBoxes(context, layout, i));
  }
  for (size_t i = 0; i < context.OutCount("OutPoints"); ++i) {
    made.emplace_back(context.Out("OutPoints", i), LaidPoints(context, layout, i));
  }
  for (size_t i = 0; i < context.OutCount("OutWith"); ++i) {
    made.emplace_back(context.Out("OutWith", i), Joined(context, "With", "OutWith", kRecords, i));
  }
  LayImages(context, settings, layout);
  for (auto& [out, tensor] : made) *out = std::move(tensor);
}

void Run(OpContext& context) {
  const Settings settings(context.attributes());
  RequireRecords(context, kRecords);
  for (size_t i = 0; i < context.InCount("Boxes"); ++i) RequireBoxes(context, "Boxes", i);
  for (size_t i = 0; i < context.InCount("Points"); ++i) RequirePoints(context, "Points", i);
  RequireFill(context, "X", settings.fill, "fill");
  RequireFill(context, "Masks", settings.mask_fill, "mask_fill");
  const RandomKey key = ImageKey(context);
  if (!(ToUnitDouble(key.Bits(0, 0)) < settings.p)) return KeepFirst(context);
  LayAll(context, settings, Layout(context, settings, key));
}

REGISTER_OPERATOR(mosaic, Schema, Run);

}  // namespace
}  // namespace millhopper
