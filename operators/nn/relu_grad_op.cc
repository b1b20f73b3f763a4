// SPDX-License-Identifier: Apache-2.0
// relu_grad: the gradient of relu from the Out of relu.
#include "operators/math/elementwise.h"

namespace millhopper {
namespace {

OpSchema Schema() { return ActivationGradSchema("relu"); }

void Run(OpContext& context) {
  RunActivationGrad(context, [](auto out, auto dout) { return out > 0 ? dout : decltype(out)(0); });
}

REGISTER_OPERATOR(relu_grad, Schema, Run);

}  // namespace
}  // namespace millhopper
