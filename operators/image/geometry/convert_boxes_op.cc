// SPDX-License-Identifier: Apache-2.0
// convert_boxes: boxes in another notation.
#include <algorithm>

#include "framework/base/attribute.h"
#include "operators/image/geometry/boxes.h"
#include "operators/image/image_argument.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  OpSchema schema("Boxes in another notation: torchvision's ConvertBoundingBoxFormat.");
  schema.Input("Boxes", "float32 or float64 [n, 4]")
      .OptionalInput(
          "X",
          "images [N, H, W, C] that the boxes are in, all of one size; only needed where "
          "one notation is relative and the other is not")
      .Output("Out", "type, dims and levels of Boxes; may be Boxes");
  WithBoxNotation(schema);
  return WithBoxNotation(schema, "to_").Infer([](InferContext& context) {
    InferBoxes(context, "Boxes", 0);
    Require(context.InCount("X") > 0 ||
                context.Attr<bool>("relative") == context.Attr<bool>("to_relative"),
            "input 'X' is needed: pixels become parts of an image, or parts become pixels");
    context.SetOut("Out", context.In("Boxes"));
  });
}

void Run(OpContext& context) {
  RequireBoxes(context, "Boxes", 0);
  const BoxNotation from = BoxNotationOf(context.attributes());
  const BoxNotation to = BoxNotationOf(context.attributes(), "to_");
  const ImageShape image = context.InCount("X") > 0 ? ShapeOfImages(context) : ImageShape{1, 1, 1};
  const StableInput boxes(context.In("Boxes"), context.Out("Out"));
  VisitType(FloatTypes(), boxes->dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* values = AllocateLike<T>(*boxes, context.Out("Out"));
    const T* given = boxes->template data<T>();
    for (uint64_t i = 0; i < boxes->rows(); ++i, values += 4, given += 4) {
      double numbers[4];
      std::copy_n(given, 4, numbers);
      to.Write(from.Read(numbers, image), image, numbers);
      std::transform(numbers, numbers + 4, values, [](double n) { return static_cast<T>(n); });
    }
  });
}

REGISTER_OPERATOR(convert_boxes, Schema, Run);

}  // namespace
}  // namespace millhopper
