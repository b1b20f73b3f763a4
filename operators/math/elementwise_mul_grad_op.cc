// SPDX-License-Identifier: Apache-2.0
// elementwise_mul_grad: the gradient of elementwise_mul.
#include "operators/math/elementwise.h"

namespace millhopper {
namespace {

OpSchema Schema() { return BinaryGradSchema("elementwise_mul"); }

void Run(OpContext& context) {
  RunBinaryGrad(
      context, [](auto, auto y, auto dout) { return dout * y; },
      [](auto x, auto, auto dout) { return dout * x; });
}

REGISTER_OPERATOR(elementwise_mul_grad, Schema, Run);

}  // namespace
}  // namespace millhopper
