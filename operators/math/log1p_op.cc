// SPDX-License-Identifier: Apache-2.0
// log1p: the natural logarithm of 1 + X.
#include <cmath>

#include "operators/math/elementwise.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return UnarySchema(
      "The natural logarithm of 1 + X, value by value, also where X is small: for counts and "
      "prices, of which some are 0.");
}

void Run(OpContext& context) {
  RunUnary(context, FloatTypes(), [](auto x) { return std::log1p(x); });
}

REGISTER_OPERATOR(log1p, Schema, Run);

}  // namespace
}  // namespace millhopper
