// SPDX-License-Identifier: Apache-2.0
// autocontrast: images whose values are spread over the whole range.
#include "operators/image/byte_images.h"
#include "operators/image/pixels/tones.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return SomeByteImagesSchema(
      "Spreads the values of each channel so that the lowest becomes 0 and the highest 255: value "
      "v becomes (v - lowest) * (255 * (1 / (highest - lowest))), each operation rounded to "
      "float32, without its fraction. That is the arithmetic of autocontrast for uint8 tensors in "
      "torchvision.transforms, with the same bytes (that of transforms.v2 differs by 1 in 1 of 100 "
      "values); a value that would be whole may become one less, the "
      "highest 254. A channel of one value only stays.");
}

void Run(OpContext& context) { ChangeSomeByteImages(context, AutoContrast); }

REGISTER_OPERATOR(autocontrast, Schema, Run);

}  // namespace
}  // namespace millhopper
