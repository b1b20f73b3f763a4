// SPDX-License-Identifier: Apache-2.0
// tanh_grad: the gradient of tanh from the Out of tanh.
#include "operators/math/elementwise.h"

namespace millhopper {
namespace {

OpSchema Schema() { return ActivationGradSchema("tanh"); }

void Run(OpContext& context) {
  RunActivationGrad(context, [](auto out, auto dout) { return dout * (1 - out * out); });
}

REGISTER_OPERATOR(tanh_grad, Schema, Run);

}  // namespace
}  // namespace millhopper
