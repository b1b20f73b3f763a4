// SPDX-License-Identifier: Apache-2.0
// elementwise_add: X plus Y, value by value.
#include "operators/math/elementwise.h"

namespace millhopper {
namespace {

OpSchema Schema() { return BinarySchema("X plus Y, value by value."); }

void Run(OpContext& context) {
  RunBinary(context, NumberTypes(), [](auto x, auto y) { return x + y; });
}

REGISTER_OPERATOR(elementwise_add, Schema, Run);

}  // namespace
}  // namespace millhopper
