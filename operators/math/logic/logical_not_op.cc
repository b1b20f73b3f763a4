// SPDX-License-Identifier: Apache-2.0
// logical_not: not X, value by value.
#include "operators/math/elementwise.h"

namespace millhopper {
namespace {

OpSchema Schema() { return UnarySchema("Not X, value by value; bool."); }

void Run(OpContext& context) {
  RunUnary(context, Types<bool>(), [](bool x) { return !x; });
}

REGISTER_OPERATOR(logical_not, Schema, Run);

}  // namespace
}  // namespace millhopper
