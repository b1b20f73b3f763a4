// SPDX-License-Identifier: Apache-2.0
// greater_equal: whether each value of X is at least the one of Y.
#include "operators/math/logic/comparison.h"

namespace millhopper {
namespace {

OpSchema Schema() { return ComparisonSchema("is at least"); }

void Run(OpContext& context) {
  RunComparison(context, [](auto x, auto y) { return x >= y; });
}

REGISTER_OPERATOR(greater_equal, Schema, Run);

}  // namespace
}  // namespace millhopper
