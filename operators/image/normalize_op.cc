// SPDX-License-Identifier: Apache-2.0
// normalize: images as numbers about 0.
#include "framework/base/attribute.h"
#include "operators/image/image_argument.h"
#include "operators/image/runs/image_steps.h"

namespace millhopper {
namespace {

using Floats = std::vector<float>;

OpSchema Schema() {
  return ImageSchema(
             "(value * scale - mean) / std for each channel, computed as value * (scale / std) + "
             "(-mean / std) with both constants rounded to float32: within two units in the last "
             "place of torchvision's ToTensor and Normalize.",
             "float32, dims of X; may be X")
      .Attr({"mean", Floats{0.0f}, "one value for all channels, or one for each"})
      .Attr({"std", Floats{1.0f}, "one value for all channels, or one for each, above 0"})
      .Attr({"scale", 1.0f / 255, "the factor before: 1/255 takes uint8 to 0 to 1"})
      .Check(
          [](const proto::OpDesc&, const AttributeMap& attributes) { NormalizeStep{attributes}; })
      .Infer([](InferContext& context) {
        const Dims dims = InferImages(context);
        if (dims[3] > 0) NormalizeStep(context.attributes()).Check(dims[3]);
        context.SetOut("Out", {DataType::kFp32, dims, 0});
      });
}

void Run(OpContext& context) {
  const ImageShape shape = ShapeOfImages(context);
  const NormalizeStep step(context.attributes());
  step.Check(shape.channels);
  const LoDTensor x = context.In("X");  // a copy that shares the values, since Out may be X
  LoDTensor* const out = context.Out("Out");
  DispatchType(ImageTypes(), context, "X", [&](auto tag) {
    using T = typename decltype(tag)::type;
    float* const to = out->Allocate<float>(x.dims());
    const T* const from = x.data<T>();
    const int64_t pixels = x.numel() / shape.channels;
    for (int64_t c = 0; c < shape.channels; ++c) {
      const float factor = step.factor(c), offset = step.offset(c);
      for (int64_t i = 0; i < pixels; ++i) {
        const int64_t at = i * shape.channels + c;
        to[at] = static_cast<float>(from[at]) * factor + offset;
      }
    }
  });
}

REGISTER_OPERATOR(normalize, Schema, Run);

}  // namespace
}  // namespace millhopper
