// SPDX-License-Identifier: Apache-2.0
// sigmoid: 1 / (1 + e^-X).
#include <cmath>

#include "operators/math/elementwise.h"

namespace millhopper {
namespace {

OpSchema Schema() { return UnarySchema("1 / (1 + e^-X), value by value."); }

void Run(OpContext& context) {
  RunUnary(context, FloatTypes(), [](auto x) { return 1 / (1 + std::exp(-x)); });
}

REGISTER_OPERATOR(sigmoid, Schema, Run);

}  // namespace
}  // namespace millhopper
