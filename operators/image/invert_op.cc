// SPDX-License-Identifier: Apache-2.0
// invert: images whose values are turned over.
#include "operators/image/byte_images.h"
#include "operators/image/pixels/tones.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return SomeByteImagesSchema("Turns each value v into 255 - v, as torchvision's invert does.");
}

void Run(OpContext& context) { ChangeSomeByteImages(context, Invert); }

REGISTER_OPERATOR(invert, Schema, Run);

}  // namespace
}  // namespace millhopper
