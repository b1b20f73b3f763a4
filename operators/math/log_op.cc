// SPDX-License-Identifier: Apache-2.0
// log: the natural logarithm of X.
#include <cmath>

#include "operators/math/elementwise.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return UnarySchema(
      "The natural logarithm of X, value by value: -inf of 0, NaN of what is below.");
}

void Run(OpContext& context) {
  RunUnary(context, FloatTypes(), [](auto x) { return std::log(x); });
}

REGISTER_OPERATOR(log, Schema, Run);

}  // namespace
}  // namespace millhopper
