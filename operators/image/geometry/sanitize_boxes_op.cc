// SPDX-License-Identifier: Apache-2.0
// sanitize_boxes: boxes clipped to their images, without those of which too little is left.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "framework/base/attribute.h"
#include "operators/image/geometry/boxes.h"
#include "operators/image/geometry/taken_rows.h"
#include "operators/image/image_argument.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  OpSchema schema(
      "Boxes clipped to their images, without those of which too little is left, nor what belongs "
      "to these, such as labels: torchvision's SanitizeBoundingBoxes after ClampBoundingBoxes, and "
      "the last step of albumentations. A box with a number that is not finite is left out.");
  schema.Input("X", "images [N, H, W, C] that the boxes are in; only their size counts")
      .Input("Boxes",
             "float32 or float64 [n, 4]; with levels of detail the outermost one divides "
             "them among the N images")
      .Inputs("With",
              "labels, masks ...: tensors of any type with a row for each box, or with one more "
              "level of detail than Boxes, several rows, such as the corners of a polygon")
      .Output("OutBoxes", "Boxes that are left; may be Boxes")
      .Outputs("OutWith", "what belongs to them; may be With");
  return WithBoxNotation(schema)
      .Attr(AttributeSchema("min_size", 1.0f, "pixels that are left each way at least").AtLeast(0))
      .Attr(AttributeSchema("min_area", 1.0f, "square pixels that are left at least").AtLeast(0))
      .Attr(AttributeSchema("min_visibility", 0.0f,
                            "the part of its area that is left of a box at least, from 0 to 1")
                .AtLeast(0))
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        const float part = attributes.Get<float>("min_visibility");
        Require(part <= 1, "attribute 'min_visibility' is ", part, "; a part is from 0 to 1");
      })
      .Infer([](InferContext& context) {
        InferImages(context);
        InferBoxes(context, "Boxes", 0);
        Require(context.InCount("With") == context.OutCount("OutWith"), "input 'With' has ",
                context.InCount("With"), " arguments and output 'OutWith' ",
                context.OutCount("OutWith"), "; each input has an output");
        const auto set = [&](const char* input, const char* output, size_t i) {
          TensorSpec spec = context.In(input, i);
          if (spec.dims && !spec.dims->empty()) (*spec.dims)[0] = -1;
          context.SetOut(output, spec, i);
        };
        set("Boxes", "OutBoxes", 0);
        for (size_t i = 0; i < context.InCount("With"); ++i) set("With", "OutWith", i);
      });
}

// Which boxes are left.
struct Limits {
  explicit Limits(const AttributeMap& attributes)
      : size(attributes.Get<float>("min_size")),
        area(attributes.Get<float>("min_area")),
        part(attributes.Get<float>("min_visibility")) {}

  bool Hold(const Corners& box, const Corners& clipped) const {
    const double left = clipped.area();
    return clipped.right - clipped.left >= size && clipped.bottom - clipped.top >= size &&
           left >= area && left > 0 && left >= part * box.area() && box.area() < HUGE_VAL;
  }

  double size, area, part;
};

Corners Clipped(const Corners& box, const ImageShape& image) {
  const auto within = [](double value, int64_t most) {
    return std::min(std::max(value, 0.0), static_cast<double>(most));
  };
  return {within(box.left, image.width), within(box.top, image.height),
          within(box.right, image.width), within(box.bottom, image.height)};
}

// Clips boxes in place, and returns the places of those that are left.
template <typename T>
RowPlaces Clip(const OpContext& context, const ImageShape& image, T* values, size_t boxes) {
  const BoxNotation notation = BoxNotationOf(context.attributes());
  const Limits limits(context.attributes());
  RowPlaces left;
  for (size_t i = 0; i < boxes; ++i, values += 4) {
    double numbers[4];
    std::copy_n(values, 4, numbers);
    const Corners box = notation.Read(numbers, image);
    const Corners clipped = Clipped(box, image);
    if (!limits.Hold(box, clipped)) continue;
    left.push_back(i);
    notation.Write(clipped, image, numbers);
    std::transform(numbers, numbers + 4, values, [](double n) { return static_cast<T>(n); });
  }
  return left;
}

// Throws unless argument i of With has a unit for each box.
void RequireFits(const OpContext& context, size_t i, const LoDTensor& boxes) {
  const LoDTensor& with = context.In("With", i);
  const size_t depth = boxes.lod().size();
  const bool fits =
      !with.dims().empty() && with.lod().size() >= depth &&
      std::equal(boxes.lod().begin(), boxes.lod().end(), with.lod().begin()) &&
      (with.lod().size() == depth ? with.rows() : with.lod()[depth].size() - 1) == boxes.rows();
  if (fits) return;
  ThrowUnfit(context, "With",
             StrCat("it needs a row, or a sequence, for each of the ", boxes.rows(),
                    " boxes, and the levels of detail that Boxes has"),
             i);
}

void Run(OpContext& context) {
  const ImageShape image = ShapeOfImages(context);
  RequireBoxes(context, "Boxes", 0);
  LoDTensor boxes = context.In("Boxes");  // a copy that shares the values until they are written
  RowsOfImage(context, "Boxes", 0, 0, static_cast<uint64_t>(context.In("X").dims()[0]));
  for (size_t i = 0; i < context.InCount("With"); ++i) RequireFits(context, i, boxes);
  RowPlaces left;
  VisitType(FloatTypes(), boxes.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    left = Clip(context, image, boxes.mutable_data<T>(), boxes.rows());
  });
  const size_t depth = boxes.lod().size();
  std::vector<LoDTensor> taken;  // all of them first: an output may be any input
  for (size_t i = 0; i < context.InCount("With"); ++i) {
    taken.push_back(Taken(context.In("With", i), depth, left));
  }
  for (size_t i = 0; i < taken.size(); ++i) *context.Out("OutWith", i) = std::move(taken[i]);
  *context.Out("OutBoxes") = Taken(boxes, depth, left);
}

REGISTER_OPERATOR(sanitize_boxes, Schema, Run);

}  // namespace
}  // namespace millhopper
