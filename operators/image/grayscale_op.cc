// SPDX-License-Identifier: Apache-2.0
// grayscale: images without their colors.
#include <algorithm>

#include "framework/base/attribute.h"
#include "operators/image/byte_images.h"
#include "operators/image/image_draws.h"
#include "operators/image/pixels/color.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return RandomImageSchema(
             "Makes each image gray with probability p: if draw 0, a number in [0, 1), is below p. "
             "Gray is Pillow's: (19595 R + 38470 G + 7471 B + 32768) >> 16. X is uint8 with 1 or 3 "
             "channels.",
             "images with dims and type of X, but num_output_channels; may be X")
      .Attr(AttributeSchema("num_output_channels", int32_t{1},
                            "1, or 3 equal ones; images that stay as they are need as many as X "
                            "has")
                .AtLeast(1))
      .Attr({"p", 1.0f, "probability, from 0 to 1"})
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        RequireProbability(attributes);
        const auto channels = attributes.Get<int32_t>("num_output_channels");
        Require(IsGrayOrColors(channels), "attribute 'num_output_channels' is ", channels,
                "; it is 1 or 3");
      })
      .Infer([](InferContext& context) {
        Dims dims = InferByteImages(context);
        dims[3] = context.Attr<int32_t>("num_output_channels");
        SetOutImages(context, dims);
      });
}

void Run(OpContext& context) {
  const int64_t channels = context.Attr<int32_t>("num_output_channels");
  const float p = context.Attr<float>("p");
  RequireInput(p >= 1 || channels == ShapeOfImages(context).channels, context, "X",
               "with 'p' below 1 images that stay as they are need 'num_output_channels' channels, "
               "which is ",
               channels);
  const RandomKey key = ImageKey(context);
  MapByteImages(context, channels,
                [&](const PixelsOf<const uint8_t>& from, const PixelsOf<uint8_t>& to, uint64_t i) {
                  if (ToUnitFloat(key.Bits(i, 0)) < p) {
                    ToGray(from, to);
                  } else {
                    std::copy_n(from.values, from.shape.values(), to.values);
                  }
                });
}

REGISTER_OPERATOR(grayscale, Schema, Run);

}  // namespace
}  // namespace millhopper
