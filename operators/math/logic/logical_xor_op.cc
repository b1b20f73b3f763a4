// SPDX-License-Identifier: Apache-2.0
// logical_xor: either X or Y, value by value.
#include "operators/math/logic/logical.h"

namespace millhopper {
namespace {

OpSchema Schema() { return LogicalSchema("Either X or Y, value by value."); }

void Run(OpContext& context) {
  RunLogical(context, [](bool x, bool y) { return x != y; });
}

REGISTER_OPERATOR(logical_xor, Schema, Run);

}  // namespace
}  // namespace millhopper
