// SPDX-License-Identifier: Apache-2.0
// tanh: the hyperbolic tangent of X.
#include <cmath>

#include "operators/math/elementwise.h"

namespace millhopper {
namespace {

OpSchema Schema() { return UnarySchema("The hyperbolic tangent of X, value by value."); }

void Run(OpContext& context) {
  RunUnary(context, FloatTypes(), [](auto x) { return std::tanh(x); });
}

REGISTER_OPERATOR(tanh, Schema, Run);

}  // namespace
}  // namespace millhopper
