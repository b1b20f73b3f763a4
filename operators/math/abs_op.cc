// SPDX-License-Identifier: Apache-2.0
// abs: how large X is.
#include <cmath>
#include <cstdlib>

#include "operators/math/elementwise.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return UnarySchema(
      "How large X is, without its sign, value by value. Of integers the lowest stays, whose size "
      "is no number of the type.");
}

void Run(OpContext& context) {
  RunUnary(context, NumberTypes(), [](auto x) { return std::abs(x); });
}

REGISTER_OPERATOR(abs, Schema, Run);

}  // namespace
}  // namespace millhopper
