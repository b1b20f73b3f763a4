// SPDX-License-Identifier: Apache-2.0
// relu: X where it is positive (or NaN), else 0.
#include "operators/math/elementwise.h"

namespace millhopper {
namespace {

OpSchema Schema() { return UnarySchema("X where it is positive (or NaN), else 0."); }

void Run(OpContext& context) {
  RunUnary(context, FloatTypes(), [](auto x) { return x < 0 ? decltype(x)(0) : x; });
}

REGISTER_OPERATOR(relu, Schema, Run);

}  // namespace
}  // namespace millhopper
