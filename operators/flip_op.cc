// SPDX-License-Identifier: Apache-2.0
// flip: images mirrored, each with a probability.
#include <algorithm>

#include "framework/base/attribute.h"
#include "operators/image_argument.h"
#include "operators/image_steps.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return RandomImageSchema(
             "Mirrors each image with probability p: if draw 0, a number in [0, 1), is below p.",
             "images with dims and type of X; may be X")
      .Attr(AttributeSchema("axis", std::string("horizontal"),
                            "horizontal: left becomes right; vertical: top becomes bottom")
                .OneOf({"horizontal", "vertical"}))
      .Attr({"p", 1.0f, "probability, from 0 to 1"})
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        const float p = attributes.Get<float>("p");
        Require(p >= 0 && p <= 1, "attribute 'p' is ", p, "; a probability is from 0 to 1");
      })
      .Infer(InferSameImages);
}

template <typename T>
void FlipRow(const T* from, int64_t width, int64_t channels, T* to) {
  for (int64_t x = 0; x < width; ++x) {
    std::copy_n(from + (width - 1 - x) * channels, channels, to + x * channels);
  }
}

void Run(OpContext& context) {
  const ImageShape shape = ShapeOfImages(context);
  const FlipStep step(context.attributes());
  const RandomKey key = ImageKey(context);
  LoDTensor* const out = context.Out("Out");
  const LoDTensor x = context.In("X");  // a copy that shares the values, since Out may be X
  DispatchType(ImageTypes(), context, "X", [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* const values = out->Allocate<T>(x.dims());
    const int64_t row = shape.width * shape.channels;
    for (int64_t i = 0; i < x.dims()[0]; ++i) {
      const PixelsOf<const T> from = ImageOf<T>(x, i);
      const PixelsOf<T> to = Contiguous(values + i * shape.values(), shape);
      const bool flip = step.Draw(key, static_cast<uint64_t>(i));
      for (int64_t y = 0; y < shape.height; ++y) {
        if (flip && step.horizontal) {
          FlipRow(from.row(y), shape.width, shape.channels, to.row(y));
        } else {
          std::copy_n(from.row(flip ? shape.height - 1 - y : y), row, to.row(y));
        }
      }
    }
  });
}

REGISTER_OPERATOR(flip, Schema, Run);

}  // namespace
}  // namespace millhopper
