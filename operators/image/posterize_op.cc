// SPDX-License-Identifier: Apache-2.0
// posterize: images with fewer tones.
#include "framework/base/attribute.h"
#include "operators/image/byte_images.h"
#include "operators/image/pixels/tones.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return SomeByteImagesSchema(
             "Keeps the upper `bits` bits of each value and clears the others, as torchvision's "
             "and Pillow's posterize do.")
      .Attr(AttributeSchema("bits", int32_t{}, "from 0 to 8; 8 changes nothing").Required())
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        RequireProbability(attributes);
        const auto bits = attributes.Get<int32_t>("bits");
        Require(bits >= 0 && bits <= 8, "attribute 'bits' is ", bits,
                "; a value has 8 bits, of which 0 to 8 are kept");
      });
}

void Run(OpContext& context) {
  const int bits = context.Attr<int32_t>("bits");
  ChangeSomeByteImages(context, [&](const PixelsOf<uint8_t>& image) { Posterize(bits, image); });
}

REGISTER_OPERATOR(posterize, Schema, Run);

}  // namespace
}  // namespace millhopper
