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
             "place of torchvision's ToTensor and Normalize. X may be [N, C, H, W], "
             "too, where W is above 4.",
             "float32, dims of X; may be X")
      .Attr({"mean", Floats{0.0f}, "one value for all channels, or one for each"})
      .Attr({"std", Floats{1.0f}, "one value for all channels, or one for each, above 0"})
      .Attr({"scale", 1.0f / 255, "the factor before: 1/255 takes uint8 to 0 to 1"})
      .Check(
          [](const proto::OpDesc&, const AttributeMap& attributes) { NormalizeStep{attributes}; })
      .Infer([](InferContext& context) {
        int64_t channels;
        const Dims dims = InferEitherLayout(context, &channels);
        if (channels > 0) NormalizeStep(context.attributes()).Check(channels);
        context.SetOut("Out", {DataType::kFp32, dims, 0});
      });
}

void Run(OpContext& context) {
  const ImagePlanes planes = PlanesOfImages(context);
  const NormalizeStep step(context.attributes());
  step.Check(planes.channels());
  const LoDTensor x = context.In("X");  // a copy that shares the values, since Out may be X
  LoDTensor* const out = context.Out("Out");
  const int64_t pixels = planes.shape.height * planes.shape.width;
  const int64_t stride = planes.shape.channels;
  DispatchType(ImageTypes(), context, "X", [&](auto tag) {
    using T = typename decltype(tag)::type;
    float* const to = out->Allocate<float>(x.dims());
    const T* const from = x.data<T>();
    for (int64_t k = 0; k < x.dims()[0] * planes.channels(); ++k) {
      const int64_t c = k % planes.channels();
      const float factor = step.factor(c), offset = step.offset(c);
      const int64_t first = k / stride * pixels * stride + k % stride;
      for (int64_t at = first; at < first + pixels * stride; at += stride) {
        to[at] = static_cast<float>(from[at]) * factor + offset;
      }
    }
  });
}

REGISTER_OPERATOR(normalize, Schema, Run);

}  // namespace
}  // namespace millhopper
