// SPDX-License-Identifier: Apache-2.0
// elementwise_add_grad: the gradient of elementwise_add.
#include "operators/math/elementwise.h"

namespace millhopper {
namespace {

OpSchema Schema() { return BinaryGradSchema("elementwise_add"); }

void Run(OpContext& context) {
  RunBinaryGrad(
      context, [](auto, auto, auto dout) { return dout; },
      [](auto, auto, auto dout) { return dout; });
}

REGISTER_OPERATOR(elementwise_add_grad, Schema, Run);

}  // namespace
}  // namespace millhopper
