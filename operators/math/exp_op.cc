// SPDX-License-Identifier: Apache-2.0
// exp: e^X.
#include <cmath>

#include "operators/math/elementwise.h"

namespace millhopper {
namespace {

OpSchema Schema() { return UnarySchema("e^X, value by value."); }

void Run(OpContext& context) {
  RunUnary(context, FloatTypes(), [](auto x) { return std::exp(x); });
}

REGISTER_OPERATOR(exp, Schema, Run);

}  // namespace
}  // namespace millhopper
