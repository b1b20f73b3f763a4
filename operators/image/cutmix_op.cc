// SPDX-License-Identifier: Apache-2.0
// cutmix: a rectangle of each image of a batch is taken from another image.
#include <algorithm>
#include <cmath>

#include "framework/base/attribute.h"
#include "operators/image/batch_mix.h"
#include "operators/image/image_argument.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return MixSchema(
             "Replaces the same rectangle of each image of a batch with that of the image before "
             "it, "
             "the last for the first, as torchvision's v2.CutMix (Source: Yun et al., \"CutMix\", "
             "2019). Its middle is at column draw 0 below W and row draw 1 below H of image 2; it "
             "reaches int(sqrt(1 - lambda) / 2 * W) to both sides and int(sqrt(1 - lambda) / 2 * "
             "H) "
             "up and down, as far as the image does. For the labels lambda becomes the part of the "
             "image that stays.",
             "images, uint8, uint16 or float32 [N, H, W, C] or, with W above 4, [N, C, H, W]",
             "dims and type of X; may be X")
      .Infer([](InferContext& context) {
        int64_t channels;
        InferEitherLayout(context, &channels);
        InferMix(context);
      });
}

Box DrawBox(const RandomKey& key, double lambda, const ImageShape& shape) {
  if (shape.height == 0 || shape.width == 0) return {};
  const double part = 0.5 * std::sqrt(1 - lambda);
  const auto x = static_cast<int64_t>(key.Below(static_cast<uint64_t>(shape.width), 2, 0));
  const auto y = static_cast<int64_t>(key.Below(static_cast<uint64_t>(shape.height), 2, 1));
  const auto across = static_cast<int64_t>(part * static_cast<double>(shape.width));
  const auto down = static_cast<int64_t>(part * static_cast<double>(shape.height));
  const int64_t left = std::max<int64_t>(x - across, 0);
  const int64_t top = std::max<int64_t>(y - down, 0);
  return {left, top, std::min(x + across, shape.width) - left,
          std::min(y + down, shape.height) - top};
}

void Run(OpContext& context) {
  const ImagePlanes planes = PlanesOfImages(context);
  const ImageShape& shape = planes.shape;
  const LoDTensor x = context.In("X");  // a copy that shares the values, since Out may be X
  const int64_t n = x.dims()[0];
  const RandomKey key = ImageKey(context);
  const Box box = DrawBox(key, DrawLambda(key, context.Attr<float>("alpha")), shape);
  const double pixels = static_cast<double>(shape.height) * static_cast<double>(shape.width);
  const auto replaced = static_cast<double>(box.width * box.height);
  MixLabels(context, n, 1 - replaced / std::max(pixels, 1.0));
  DispatchType(ImageTypes(), context, "X", [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* const values = context.Out("Out")->Allocate<T>(x.dims());
    std::copy_n(x.data<T>(), x.numel(), values);
    for (int64_t k = 0; k < n * planes.count; ++k) {
      const int64_t i = k / planes.count;
      const int64_t other = k + (PartnerOf(i, n) - i) * planes.count;
      const PixelsOf<const T> from =
          Contiguous(x.data<T>() + other * shape.values(), shape).Crop(box);
      const PixelsOf<T> to = Contiguous(values + k * shape.values(), shape).Crop(box);
      for (int64_t y = 0; y < box.height; ++y) {
        std::copy_n(from.row(y), box.width * shape.channels, to.row(y));
      }
    }
  });
}

REGISTER_OPERATOR(cutmix, Schema, Run);

}  // namespace
}  // namespace millhopper
