// SPDX-License-Identifier: Apache-2.0
// elementwise_mul: X times Y, value by value.
#include "operators/math/elementwise.h"

namespace millhopper {
namespace {

OpSchema Schema() { return BinarySchema("X times Y, value by value."); }

void Run(OpContext& context) {
  RunBinary(context, NumberTypes(), [](auto x, auto y) { return x * y; });
}

REGISTER_OPERATOR(elementwise_mul, Schema, Run);

}  // namespace
}  // namespace millhopper
