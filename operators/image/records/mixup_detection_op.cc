// SPDX-License-Identifier: Apache-2.0
// mixup_detection: two images blended, with the boxes of both.
#include <utility>
#include <vector>

#include "framework/base/attribute.h"
#include "operators/image/batch_mix.h"
#include "operators/image/image_draws.h"
#include "operators/image/records/records.h"

namespace millhopper {
namespace {

constexpr size_t kRecords = 2;

OpSchema Schema() {
  return RecordsSchema(
             "Blends the images of two records, lambda times the first plus 1 - lambda times the "
             "second, in float64 and cut to whole numbers for whole numbers, and takes the boxes, "
             "masks of objects and labels of both, as detectors are trained. Lambda is drawn from "
             "Beta(alpha, alpha), as `mixup` draws it; with p below 1, Out is the first image "
             "where draw 0 of image 2 is not below p (Source: Zhang et al., \"Bag of Freebies for "
             "Training Object Detection Neural Networks\", 2019).",
             kRecords, "[1, H, W, C], type of X",
             "uint8, uint16 or float32 [n, H, W, C], masks of "
             "objects, with a level of detail")
      .Attr({"alpha", 32.0f, "of the Beta distribution, from 0.001 to 1000"})
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        RequireProbability(attributes);
        RequireAlpha(attributes);
      })
      .Infer([](InferContext& context) {
        const Dims dims = InferImages(context);
        InferRecords(context, kRecords, dims[1], dims[2]);
      });
}

void Blend(OpContext& context, double lambda) {
  const LoDTensor first = context.In("X"), second = context.In("X", 1);
  VisitType(ImageTypes(), first.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* const out = context.Out("Out")->Allocate<T>(first.dims());
    const T* const a = first.template data<T>();
    const T* const b = second.template data<T>();
    for (int64_t i = 0; i < first.numel(); ++i) {
      out[i] = static_cast<T>(a[i] * lambda + b[i] * (1 - lambda));
    }
  });
}

void Run(OpContext& context) {
  RequireOneSize(context, kRecords);
  for (size_t i = 0; i < context.InCount("Boxes"); ++i) RequireBoxes(context, "Boxes", i);
  const RandomKey key = ImageKey(context);
  if (!(ToUnitDouble(key.Bits(2, 0)) < context.Attr<float>("p"))) return KeepFirst(context);
  std::vector<std::pair<LoDTensor*, LoDTensor>> made;  // all first: an output may be any input
  for (const auto& [input, output] :
       {std::pair("Masks", "OutMasks"), std::pair("Boxes", "OutBoxes"),
        std::pair("Points", "OutPoints"), std::pair("With", "OutWith")}) {
    for (size_t i = 0; i < context.OutCount(output); ++i) {
      made.emplace_back(context.Out(output, i), Joined(context, input, output, kRecords, i));
    }
  }
  Blend(context, DrawLambda(key, context.Attr<float>("alpha")));
  for (auto& [out, tensor] : made) *out = std::move(tensor);
}

REGISTER_OPERATOR(mixup_detection, Schema, Run);

}  // namespace
}  // namespace millhopper
