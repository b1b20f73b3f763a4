// SPDX-License-Identifier: Apache-2.0
// channel_permutation: the channels of images in an order that is drawn.
#include <algorithm>

#include "framework/base/attribute.h"
#include "operators/image/image_argument.h"
#include "operators/image/image_draws.h"
#include "operators/image/pixels/channels.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return RandomImageSchema(
             "The channels of each image in an order that is drawn, with probability p: if draw "
             "0, a number in [0, 1) of 24 bits, is below p. The order begins as that of X; then, "
             "for k = C - 1, ..., 1, channel k changes with the one that draw C - k chooses among "
             "0 to k: torchvision's RandomChannelPermutation.",
             "images with dims and type of X; may be X")
      .Attr({"p", 1.0f, "probability, from 0 to 1"})
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        RequireProbability(attributes);
      })
      .Infer(InferSameImages);
}

void Run(OpContext& context) {
  const ImageShape shape = ShapeOfImages(context);
  const float p = context.Attr<float>("p");
  const RandomKey key = ImageKey(context);
  const LoDTensor x = context.In("X");  // a copy that shares the values, since Out may be X
  LoDTensor* const out = context.Out("Out");
  DispatchType(ImageTypes(), context, "X", [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* const values = out->Allocate<T>(x.dims());
    for (int64_t i = 0; i < x.dims()[0]; ++i) {
      const auto image = static_cast<uint64_t>(i);
      const PixelsOf<const T> from = ImageOf<T>(x, i);
      const PixelsOf<T> to = Contiguous(values + i * shape.values(), shape);
      if (ToUnitFloat(key.Bits(image, 0)) < p) {
        PermuteChannels(
            DrawnOrder<kMostChannels>(key, image, 1, static_cast<size_t>(shape.channels)), from,
            to);
      } else {
        CopyPixels(from, to);
      }
    }
  });
}

REGISTER_OPERATOR(channel_permutation, Schema, Run);

}  // namespace
}  // namespace millhopper
