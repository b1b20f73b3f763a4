// SPDX-License-Identifier: Apache-2.0
// elementwise_div_grad: the gradient of elementwise_div.
#include "operators/math/elementwise.h"

namespace millhopper {
namespace {

OpSchema Schema() { return BinaryGradSchema("elementwise_div"); }

void Run(OpContext& context) {
  RunBinaryGrad(
      context, [](auto, auto y, auto dout) { return dout / y; },
      [](auto x, auto y, auto dout) { return -dout * x / (y * y); });
}

REGISTER_OPERATOR(elementwise_div_grad, Schema, Run);

}  // namespace
}  // namespace millhopper
