// SPDX-License-Identifier: Apache-2.0
// elementwise_sub_grad: the gradient of elementwise_sub.
#include "operators/math/elementwise.h"

namespace millhopper {
namespace {

OpSchema Schema() { return BinaryGradSchema("elementwise_sub"); }

void Run(OpContext& context) {
  RunBinaryGrad(
      context, [](auto, auto, auto dout) { return dout; },
      [](auto, auto, auto dout) { return -dout; });
}

REGISTER_OPERATOR(elementwise_sub_grad, Schema, Run);

}  // namespace
}  // namespace millhopper
