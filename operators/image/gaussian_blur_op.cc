// SPDX-License-Identifier: Apache-2.0
// gaussian_blur: images made soft by an amount that is drawn.
#include <algorithm>
#include <cmath>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/base/ref_counted.h"
#include "operators/image/byte_images.h"
#include "operators/image/image_draws.h"
#include "operators/image/pixels/blur.h"

namespace millhopper {
namespace {

// What the attributes ask for.
struct BlurStep {
  explicit BlurStep(const AttributeMap& attributes) {
    const auto& sizes = attributes.Get<std::vector<int32_t>>("kernel_size");
    Require(sizes.size() == 1 || sizes.size() == 2, "attribute 'kernel_size' has ", sizes.size(),
            " values; it is {k}, or {along x, along y}");
    for (const int32_t size : sizes) {
      Require(size >= 1 && size <= kMostWeights && size % 2 == 1,
              "attribute 'kernel_size' has the value ", size, "; it is odd, from 1 to ",
              kMostWeights);
    }
    across = sizes.front();
    down = sizes.back();
    const auto& sigmas = attributes.Get<std::vector<float>>("sigma");
    Require(sigmas.size() == 1 || sigmas.size() == 2, "attribute 'sigma' has ", sigmas.size(),
            " values; it is one, or the lowest and the highest");
    for (const float given : sigmas) {
      Require(given > 0 && std::isfinite(given), "attribute 'sigma' has the value ", given,
              "; it must be above 0 and finite");
    }
    sigma = {sigmas.front(), sigmas.back()};
    Require(sigma.low <= sigma.high, "attribute 'sigma' asks for the range from ", sigma.low,
            " to ", sigma.high, "; the lowest comes first");
  }

  int64_t across = 1, down = 1;
  DrawnRange sigma;
};

OpSchema Schema() {
  return RandomImageSchema(
             "Mixes each pixel with those around it by weights exp(-(distance / sigma)^2 / 2), "
             "along x and along y, with one sigma for both: draw 0 gives it, low + (high - low) * "
             "u with u in [0, 1) of 53 bits. Behind an edge lies the image's reflection, without "
             "the edge itself, so that each side must be larger than half the kernel. That is "
             "torchvision's GaussianBlur, in whole numbers: weights are rounded to parts of 2^16, "
             "the middle one taking what is left over, sums along x to 8 bits after the point, "
             "and those along y to bytes, half up. The result differs from torchvision's in "
             "float32 by 1 at most: mostly in fewer than 2 of 1000 values, and in up to 1 of 100 "
             "where many sums lie near a half, as on slopes under large kernels. X is uint8 with 1 "
             "or 3 channels.",
             "images with dims and type of X; may be X")
      .Attr(AttributeSchema("kernel_size", std::vector<int32_t>{},
                            "{k}, or {along x, along y}: pixels that count, odd, from 1 to 255")
                .Required())
      .Attr({"sigma", std::vector<float>{0.1f, 2.0f},
             "in pixels, above 0. {s}: always s; {low, high}: from low to high"})
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) { BlurStep{attributes}; })
      .Infer(InferSameByteImages);
}

// A Blur of a pool, so that its memory is used again.
class PooledBlur final : public RefCounted {
 public:
  Blur blur;

 private:
  void Dispose() override { Pool<PooledBlur>::Give(this); }
};

void Run(OpContext& context) {
  const BlurStep step(context.attributes());
  const ImageShape shape = ShapeOfImages(context);
  RequireInput(
      shape.values() == 0 || (shape.width > step.across / 2 && shape.height > step.down / 2),
      context, "X", "a kernel of ", step.across, " x ", step.down,
      " pixels needs images of at least ", step.across / 2 + 1, " pixels along x and ",
      step.down / 2 + 1, " along y: a smaller 'kernel_size' or larger images");
  const RandomKey key = ImageKey(context);
  const Ref<PooledBlur> pooled = Pool<PooledBlur>::Take();
  Blur& blur = pooled->blur;
  MapByteImages(context, shape.channels,
                [&](const PixelsOf<const uint8_t>& from, const PixelsOf<uint8_t>& to, uint64_t i) {
                  if (shape.values() == 0) return;
                  const double sigma = step.sigma.At(key.Bits(i, 0));
                  SetGaussian(step.across, sigma, &blur.across);
                  SetGaussian(step.down, sigma, &blur.down);
                  blur.Run(from, to);
                });
}

REGISTER_OPERATOR(gaussian_blur, Schema, Run);

}  // namespace
}  // namespace millhopper
