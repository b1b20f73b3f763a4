// SPDX-License-Identifier: Apache-2.0
// equalize: images whose values are about equally frequent.
#include "operators/image/byte_images.h"
#include "operators/image/pixels/tones.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return SomeByteImagesSchema(
      "Spreads the values of each channel so that all parts of the range are about equally "
      "frequent, as torchvision's and Pillow's equalize do, in whole numbers: with `step` 1/255 of "
      "the pixels below the channel's highest value, and n pixels below v, value v becomes (n + "
      "step / 2) / step, 255 at most; all quotients are rounded down. A channel whose step is 0 "
      "stays.");
}

void Run(OpContext& context) { ChangeSomeByteImages(context, Equalize); }

REGISTER_OPERATOR(equalize, Schema, Run);

}  // namespace
}  // namespace millhopper
