// SPDX-License-Identifier: Apache-2.0
// gaussian_noise: normal numbers are added to the values of images.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "framework/base/attribute.h"
#include "operators/image/image_argument.h"
#include "operators/image/image_draws.h"
#include "operators/support/arguments.h"

namespace millhopper {
namespace {

using NoisyTypes = Types<uint8_t, float>;
constexpr char kWanted[] = "this operator takes uint8 and float32 images";

OpSchema Schema() {
  return RandomImageSchema(
             "Adds a normal number to each value, as torchvision's GaussianNoise does: to value v "
             "of an image, from 0, that of draw v (the ziggurat of Marsaglia and Tsang, 2000, of "
             "128 layers), times `sigma` plus `mean`. These are in parts of the range of values, "
             "which ends at 1 for float32 and at 255 for uint8, to which numbers without their "
             "fraction are added.",
             "images with dims and type of X; may be X")
      .Attr({"mean", 0.0f, "of the numbers, finite"})
      .Attr({"sigma", 0.1f, "their standard deviation, at least 0 and finite"})
      .Attr({"clip", true,
             "whether float32 values are held between 0 and 1; those of uint8 always end at 0 and "
             "255"})
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        const float mean = attributes.Get<float>("mean"), sigma = attributes.Get<float>("sigma");
        Require(std::isfinite(mean), "attribute 'mean' is ", mean, "; it must be finite");
        Require(sigma >= 0 && std::isfinite(sigma), "attribute 'sigma' is ", sigma,
                "; it must be finite and at least 0");
      })
      .Infer([](InferContext& context) {
        InferSameImages(context);
        if (const auto type = context.In("X").dtype; type && !NoisyTypes::Has(*type)) {
          context.ThrowUnfit("X", kWanted);
        }
      });
}

uint8_t WithNoise(uint8_t value, float noise, bool) {
  // Held where nothing is lost, so that they can be whole numbers.
  const float held = std::min(std::max(255 * noise, -255.0f), 255.0f);
  return static_cast<uint8_t>(std::min(std::max(value + static_cast<int>(held), 0), 255));
}

float WithNoise(float value, float noise, bool clip) {
  const float sum = value + noise;
  return clip ? std::min(std::max(sum, 0.0f), 1.0f) : sum;
}

void Run(OpContext& context) {
  const ImageShape shape = ShapeOfImages(context);
  const float mean = context.Attr<float>("mean"), sigma = context.Attr<float>("sigma");
  const bool clip = context.Attr<bool>("clip");
  const RandomKey key = ImageKey(context);
  const LoDTensor x = context.In("X");  // a copy that shares the values, since Out may be X
  RequireInput(NoisyTypes::Has(x.dtype()), context, "X", kWanted);
  LoDTensor* const out = context.Out("Out");
  VisitType(NoisyTypes(), x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = x.data<T>();
    T* to = out->Allocate<T>(x.dims());
    for (int64_t i = 0; i < x.dims()[0]; ++i) {
      for (int64_t v = 0; v < shape.values(); ++v) {
        const uint64_t bits = key.Bits(static_cast<uint64_t>(i), static_cast<uint64_t>(v));
        *to++ = WithNoise(*from++, mean + static_cast<float>(NormalOf(bits)) * sigma, clip);
      }
    }
  });
}

REGISTER_OPERATOR(gaussian_noise, Schema, Run);

}  // namespace
}  // namespace millhopper
