// SPDX-License-Identifier: Apache-2.0
#include "operators/image/geometry/geometric.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "operators/image/geometry/boxes.h"

namespace millhopper {
namespace {

// An input, and the output that has it after it has moved.
struct InputAndOutput {
  const char *input, *output;
};
constexpr InputAndOutput kMoved[] = {
    {"X", "Out"}, {"Masks", "OutMasks"}, {"Boxes", "OutBoxes"}, {"Points", "OutPoints"}};

// Where a place goes.
using PlaceMove = std::function<ImagePoint(uint64_t i, const ImagePoint& place)>;

// The least box around a box of image i whose corners have moved.
Corners Moved(const PlaceMove& move, uint64_t i, const Corners& box) {
  const ImagePoint places[] = {move(i, {box.left, box.top}), move(i, {box.right, box.top}),
                               move(i, {box.left, box.bottom}), move(i, {box.right, box.bottom})};
  Corners around{places[0].x, places[0].y, places[0].x, places[0].y};
  for (const ImagePoint& place : places) {
    around = {std::min(around.left, place.x), std::min(around.top, place.y),
              std::max(around.right, place.x), std::max(around.bottom, place.y)};
  }
  return around;
}

// What becomes of the places of one image.
struct Move {
  const PlaceMove& move;
  uint64_t image;
  const BoxNotation& notation;
  ImageShape before, after;
};

template <typename T>
void MoveBox(const Move& move, const T* from, T* to) {
  double values[4];
  std::copy_n(from, 4, values);
  move.notation.Write(Moved(move.move, move.image, move.notation.Read(values, move.before)),
                      move.after, values);
  std::transform(values, values + 4, to, [](double value) { return static_cast<T>(value); });
}

template <typename T>
void MovePoint(const Move& move, const T* from, T* to) {
  const bool relative = move.notation.relative;
  const auto side = [&](int64_t pixels) { return relative ? static_cast<double>(pixels) : 1; };
  const ImagePoint place = move.move(
      move.image, {from[0] * side(move.before.width), from[1] * side(move.before.height)});
  to[0] = static_cast<T>(relative ? PartOfSide(place.x, move.after.width) : place.x);
  to[1] = static_cast<T>(relative ? PartOfSide(place.y, move.after.height) : place.y);
}

// What an argument of places holds, before any output is written.
struct Places {
  LoDTensor values;            // a copy that shares them, since an output may be any input
  std::vector<RowRange> rows;  // of each image
};

std::vector<Places> PlacesOf(const OpContext& context, const char* parameter, uint64_t images) {
  std::vector<Places> places;
  for (size_t i = 0; i < context.InCount(parameter); ++i) {
    places.push_back({context.In(parameter, i), {}});
    for (uint64_t image = 0; image < images; ++image) {
      places.back().rows.push_back(RowsOfImage(context, parameter, i, image, images));
    }
  }
  return places;
}

// Calls function(image, from, to) for each group of `numbers` values of an argument with its place
// in the output; the other values are copied.
template <typename Function>
void MakePlaces(OpContext& context, const char* output, size_t argument, const Places& from,
                size_t numbers, Function function) {
  VisitType(FloatTypes(), from.values.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    LoDTensor* const out = context.Out(output, argument);
    T* const values = out->Allocate<T>(from.values.dims());
    const T* const given = from.values.template data<T>();
    std::copy_n(given, from.values.numel(), values);
    if (!from.values.lod().empty()) *out->mutable_lod_unchecked() = from.values.lod();
    const size_t row =
        from.values.rows() == 0 ? 0 : static_cast<size_t>(from.values.numel()) / from.values.rows();
    for (uint64_t i = 0; i < from.rows.size(); ++i) {
      for (size_t at = from.rows[i].begin * row; at < from.rows[i].end * row; at += numbers) {
        function(i, given + at, values + at);
      }
    }
  });
}

}  // namespace

OpSchema GeometricSchema(std::string doc, std::string out) {
  OpSchema schema(std::move(doc));
  schema
      .Inputs(
          "X",
          "images, uint8, uint16 or float32 [N, H, W, C], all of one N, H and W, which draw the "
          "same")
      .OneOrMore()
      .Inputs("Masks",
              "images of the same size whose values are classes or other numbers that cannot be "
              "mixed: they are moved as X is, with interpolation nearest. As many as X, or with a "
              "level of detail that divides them among the N images, such as those of objects")
      .Inputs("Boxes",
              "float32 or float64 [n, 4], boxes in X, which become the least boxes around where "
              "their corners go, also outside of the image (sanitize_boxes clips them and leaves "
              "small ones out). With levels of detail the outermost one divides them among the N "
              "images")
      .Inputs("Points",
              "float32 or float64 [.., 2], places x and y in X, such as key points and corners of "
              "polygons, or [.., 3], whose third number stays; with levels of detail as Boxes")
      .Outputs("Out", std::move(out) + "; one for each of X")
      .OneOrMore()
      .Outputs("OutMasks", "the same of Masks")
      .Outputs("OutBoxes", "type, dims and levels of Boxes")
      .Outputs("OutPoints", "type, dims and levels of Points")
      .OptionalOutput("Matrix",
                      "float64 [N, 2, 3]: what was done to each image. The place (x, y), in pixels "
                      "of X from the upper left corner, went to Matrix times (x, y, 1)");
  return WithBoxNotation(schema);
}

OpSchema& WithMaskFill(OpSchema& schema) {
  return schema.Attr({"mask_fill", int32_t{0},
                      "the value of pixels of Masks that lie outside of them, such as a class that "
                      "a loss ignores (255)"});
}

int32_t MaskFillOf(const AttributeMap& attributes) {
  const auto fill = attributes.Get<int32_t>("mask_fill");
  Require(fill >= 0 && fill <= 65535, "attribute 'mask_fill' is ", fill,
          "; values of masks are from 0 to 255, of uint16 to 65535");
  return fill;
}

void InferMoved(InferContext& context, int64_t height, int64_t width, int64_t matrix_rows) {
  for (const auto& [input, output] : kMoved) {
    Require(context.InCount(input) == context.OutCount(output), "input '", input, "' has ",
            context.InCount(input), " arguments and output '", output, "' ",
            context.OutCount(output), "; each input has an output");
  }
  for (const char* const input : {"X", "Masks"}) {
    const char* const output = *input == 'X' ? "Out" : "OutMasks";
    const Dims first = InferImages(context);
    for (size_t i = 0; i < context.InCount(input); ++i) {
      const Dims dims = InferImages(context, input, i);
      const std::optional<int> levels = *input == 'X' ? 0 : context.In(input, i).lod_level;
      const int64_t number = levels.value_or(0) > 0 ? first[0] : dims[0];
      if (!MayBeSame(Dims{number, dims[1], dims[2]}, Dims{first[0], first[1], first[2]})) {
        context.ThrowUnfit(input, "what moves together has the same number and size", i);
      }
      context.SetOut(
          output, {context.In(input, i).dtype, Dims{dims[0], height, width, dims[3]}, levels}, i);
    }
  }
  for (size_t i = 0; i < context.InCount("Boxes"); ++i) {
    InferBoxes(context, "Boxes", i);
    context.SetOut("OutBoxes", context.In("Boxes", i), i);
  }
  for (size_t i = 0; i < context.InCount("Points"); ++i) {
    InferPoints(context, "Points", i);
    context.SetOut("OutPoints", context.In("Points", i), i);
  }
  context.SetOut("Matrix", {DataType::kFp64, Dims{InferImages(context)[0], matrix_rows, 3}, 0});
}

ImageSize OneSize(const OpContext& context, const std::function<ImageSize(uint64_t i)>& size_of) {
  const ImageShape shape = ShapeOfImages(context);
  const int64_t images = context.In("X").dims()[0];
  if (images == 0) return {shape.height, shape.width};
  const ImageSize size = size_of(0);
  for (int64_t i = 1; i < images; ++i) {
    const auto [height, width] = size_of(static_cast<uint64_t>(i));
    RequireInput(height == size.height && width == size.width, context, "X", "image 0 becomes ",
                 size.height, " x ", size.width, " pixels, image ", i, " ", height, " x ", width,
                 "; images of one X keep one size: `batch` them afterwards");
  }
  return size;
}

PlaceMap MapOfPart(const Box& box, int64_t height, int64_t width) {
  // A part without pixels has no scale: places are as far from it as they were.
  const auto scale = [](int64_t after, int64_t before) {
    return before > 0 ? static_cast<double>(after) / static_cast<double>(before) : 1;
  };
  PlaceMap map;
  map.xx = scale(width, box.width);
  map.yy = scale(height, box.height);
  map.x0 = -map.xx * static_cast<double>(box.x);
  map.y0 = -map.yy * static_cast<double>(box.y);
  return map;
}

PlaceMap MapOfWarp(const AffineMap& inverse, const ImageShape& from, int64_t height,
                   int64_t width) {
  const double determinant = inverse.xx * inverse.yy - inverse.xy * inverse.yx;
  PlaceMap map;
  map.xx = inverse.yy / determinant;
  map.xy = -inverse.xy / determinant;
  map.yx = -inverse.yx / determinant;
  map.yy = inverse.xx / determinant;
  // Both maps see places from the middle, where `inverse` adds (x0, y0) and this map takes it off.
  const double x = static_cast<double>(from.width) / 2 + inverse.x0;
  const double y = static_cast<double>(from.height) / 2 + inverse.y0;
  map.x0 = static_cast<double>(width) / 2 - map.xx * x - map.xy * y;
  map.y0 = static_cast<double>(height) / 2 - map.yx * x - map.yy * y;
  return map;
}

bool MovesPlaces(const OpContext& context) {
  return context.InCount("Boxes") + context.InCount("Points") + context.OutCount("Matrix") > 0;
}

void MoveBoxesAndPoints(OpContext& context, int64_t height, int64_t width, const PlaceMove& move) {
  const BoxNotation notation = BoxNotationOf(context.attributes());
  const ImageShape before = ShapeOfImages(context);
  const ImageShape after{height, width, before.channels};
  const auto images = static_cast<uint64_t>(context.In("X").dims()[0]);
  const auto of = [&](uint64_t i) { return Move{move, i, notation, before, after}; };
  for (size_t i = 0; i < context.InCount("Boxes"); ++i) RequireBoxes(context, "Boxes", i);
  for (size_t i = 0; i < context.InCount("Points"); ++i) RequirePoints(context, "Points", i);
  const std::vector<Places> boxes = PlacesOf(context, "Boxes", images);
  const std::vector<Places> points = PlacesOf(context, "Points", images);
  for (size_t i = 0; i < boxes.size(); ++i) {
    MakePlaces(context, "OutBoxes", i, boxes[i], 4,
               [&](uint64_t image, const auto* from, auto* to) { MoveBox(of(image), from, to); });
  }
  for (size_t i = 0; i < points.size(); ++i) {
    const Dims& dims = points[i].values.dims();
    MakePlaces(context, "OutPoints", i, points[i], static_cast<size_t>(dims[dims.size() - 1]),
               [&](uint64_t image, const auto* from, auto* to) { MovePoint(of(image), from, to); });
  }
}

void MovePlaces(OpContext& context, int64_t height, int64_t width,
                const std::vector<PlaceMap>& maps, int64_t matrix_rows) {
  MoveBoxesAndPoints(context, height, width,
                     [&](uint64_t i, const ImagePoint& place) { return maps[i].Of(place); });
  if (!IsWanted(context, "Matrix")) return;
  const auto images = static_cast<int64_t>(maps.size());
  double* values = context.Out("Matrix")->Allocate<double>({images, matrix_rows, 3});
  for (const PlaceMap& map : maps) {
    const double numbers[] = {map.xx, map.xy, map.x0, map.yx, map.yy,
                              map.y0, map.wx, map.wy, map.w0};
    values = std::copy_n(numbers, 3 * matrix_rows, values);
  }
}

std::vector<LoDTensor> MovedImages(const OpContext& context) {
  std::vector<LoDTensor> images;
  images.reserve(context.InCount("X") + context.InCount("Masks"));
  for (const char* const parameter : {"X", "Masks"}) {
    for (size_t i = 0; i < context.InCount(parameter); ++i) {
      ShapeOfImages(context, parameter, i);
      images.push_back(context.In(parameter, i));
      const Dims& first = images.front().dims();
      const Dims& dims = images.back().dims();
      const Lod& lod = images.back().lod();
      const bool is_divided = *parameter == 'M' && lod.size() == 1;
      const auto number = is_divided ? static_cast<int64_t>(lod[0].size()) - 1 : dims[0];
      if (number == first[0] && dims[1] == first[1] && dims[2] == first[2]) continue;
      ThrowUnfit(context, parameter,
                 StrCat("the first X is ", ToString(first),
                        ", and what moves together has the same number and size"),
                 i);
    }
  }
  return images;
}

uint64_t ImageOfMask(const LoDTensor& masks, uint64_t mask) {
  if (masks.lod().empty()) return mask;
  const LodLevel& ends = masks.lod()[0];
  return static_cast<uint64_t>(std::upper_bound(ends.begin(), ends.end(), mask) - ends.begin()) - 1;
}

}  // namespace millhopper
