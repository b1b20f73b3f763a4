// SPDX-License-Identifier: Apache-2.0
// sqrt: the square root of X.
#include <cmath>

#include "operators/math/elementwise.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return UnarySchema("The square root of X, value by value: NaN of what is below 0.");
}

void Run(OpContext& context) {
  RunUnary(context, FloatTypes(), [](auto x) { return std::sqrt(x); });
}

REGISTER_OPERATOR(sqrt, Schema, Run);

}  // namespace
}  // namespace millhopper
