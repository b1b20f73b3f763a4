// SPDX-License-Identifier: Apache-2.0
// elastic: images whose pixels are moved by a smooth field that is drawn.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/base/ref_counted.h"
#include "operators/image/geometry/warped_images.h"
#include "operators/image/image_argument.h"
#include "operators/image/image_draws.h"
#include "operators/image/pixels/elastic.h"
#include "operators/support/arguments.h"

namespace millhopper {
namespace {

using Floats = std::vector<float>;

// What the attributes ask for.
struct ElasticStep {
  explicit ElasticStep(const AttributeMap& attributes) {
    const auto pair = [&](const char* name, float most, double* x, double* y) {
      const auto& given = attributes.Get<Floats>(name);
      Require(given.size() == 1 || given.size() == 2, "attribute '", name, "' has ", given.size(),
              " values; it is one, or one for x and one for y");
      for (const float value : given) {
        Require(value >= 0 && value <= most, "attribute '", name, "' has the value ", value,
                "; it must be from 0 to ", most);
      }
      *x = given.front();
      *y = given.back();
    };
    pair("alpha", 1e6f, &alpha_x, &alpha_y);
    pair("sigma", 100, &sigma_x, &sigma_y);
  }

  double alpha_x = 0, alpha_y = 0, sigma_x = 0, sigma_y = 0;
};

OpSchema Schema() {
  OpSchema schema = WarpSchema(
      "Moves each pixel by a smooth field that is drawn, as torchvision's ElasticTransform does: "
      "pixel v of an image, from 0, is taken from a place that lies off its own by numbers from -1 "
      "to 1 of draws v (along x) and H W + v (along y), each 2 u - 1 with u in [0, 1) of 53 bits, "
      "smoothed by a Gaussian of 8 sigma + 1 weights, in float32, and multiplied by half of alpha, "
      "in pixels. Each side of an image must be longer than 4 sigma + 1. Boxes and points move the "
      "other way by the displacement of the pixel that they are in, which is nearly where the "
      "image goes; there is no Matrix. The size stays; for the pixels see rotate. X is uint8 with "
      "1 or 3 channels.");
  return schema.Attr({"alpha", Floats{50.0f}, "{both}, or {x, y}: how far, at least 0"})
      .Attr({"sigma", Floats{5.0f}, "{both}, or {x, y}: how smooth, in pixels, from 0 to 100"})
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        ElasticStep{attributes};
        CheckWarp(attributes);
      })
      .Infer([](InferContext& context) { InferWarped(context); });
}

// Fields of a pool, so that their memory is used again.
class PooledDisplacements final : public RefCounted {
 public:
  std::vector<Displacement> of_image;

 private:
  void Dispose() override { Pool<PooledDisplacements>::Give(this); }
};

// Draws the field of image i.
void Draw(const RandomKey& key, uint64_t i, const ElasticStep& step, Displacement* field) {
  uint64_t draw = 0;
  for (std::vector<float>* const values : {&field->across(), &field->down()}) {
    for (float& value : *values) {
      value = static_cast<float>(2 * ToUnitDouble(key.Bits(i, draw++)) - 1);
    }
  }
  // As there, the one for x decides both numbers of weights of the first field, and the one for y
  // those of the second.
  const auto smooth = [&](double of_size, double alpha, std::vector<float>* values) {
    const auto factor = static_cast<float>(alpha / 2);
    const bool is_smooth = of_size > 0 && step.sigma_x > 0 && step.sigma_y > 0;
    const std::vector<float> one = {1.0f};
    field->Smooth(is_smooth ? SmoothingWeights(of_size, step.sigma_x) : one,
                  is_smooth ? SmoothingWeights(of_size, step.sigma_y) : one, factor, values);
  };
  smooth(step.sigma_x, step.alpha_x, &field->across());
  smooth(step.sigma_y, step.alpha_y, &field->down());
}

void Run(OpContext& context) {
  const ImageShape shape = ShapeOfImages(context);
  RequireWarpable(context);
  CheckPixels(shape.height, shape.width);
  const ElasticStep step(context.attributes());
  const double reach = 4 * std::max(step.sigma_x, step.sigma_y) + 1;
  RequireInput(
      shape.values() == 0 || static_cast<double>(std::min(shape.height, shape.width)) > reach,
      context, "X", "with this 'sigma' each side must be longer than ", reach, " pixels");
  Require(!IsWanted(context, "Matrix"), "elastic has no Matrix");
  const RandomKey key = ImageKey(context);
  const auto images = static_cast<size_t>(shape.values() == 0 ? 0 : context.In("X").dims()[0]);
  const Ref<PooledDisplacements> fields = Pool<PooledDisplacements>::Take();
  fields->of_image.resize(std::max(fields->of_image.size(), images));
  for (size_t i = 0; i < images; ++i) {
    fields->of_image[i].Resize(shape.height, shape.width);
    Draw(key, i, step, &fields->of_image[i]);
  }
  if (images > 0) {
    MoveBoxesAndPoints(context, shape.height, shape.width, [&](uint64_t i, const ImagePoint& from) {
      const Displacement& field = fields->of_image[i];
      const auto pixel = [](double place, int64_t side) {
        const double within = std::min(std::max(place, 0.0), static_cast<double>(side - 1));
        return static_cast<int64_t>(within);
      };
      const auto at = static_cast<size_t>(pixel(from.y, shape.height) * shape.width +
                                          pixel(from.x, shape.width));
      return ImagePoint{from.x - double{field.across()[at]}, from.y - double{field.down()[at]}};
    });
  }
  const Sampling of_masks = SamplingOfMasks(context.attributes());
  MoveImages(context, shape.height, shape.width, [&](uint64_t i, auto from, auto to, bool is_mask) {
    if constexpr (std::is_same_v<decltype(to), PixelsOf<uint8_t>>) {
      Warp(from, fields->of_image[i],
           is_mask ? of_masks : SamplingOf(context.attributes(), from.shape.channels), to);
    }
  });
}

REGISTER_OPERATOR(elastic, Schema, Run);

}  // namespace
}  // namespace millhopper
