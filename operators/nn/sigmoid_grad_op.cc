// SPDX-License-Identifier: Apache-2.0
// sigmoid_grad: the gradient of sigmoid from the Out of sigmoid.
#include "operators/math/elementwise.h"

namespace millhopper {
namespace {

OpSchema Schema() { return ActivationGradSchema("sigmoid"); }

void Run(OpContext& context) {
  RunActivationGrad(context, [](auto out, auto dout) { return dout * out * (1 - out); });
}

REGISTER_OPERATOR(sigmoid_grad, Schema, Run);

}  // namespace
}  // namespace millhopper
