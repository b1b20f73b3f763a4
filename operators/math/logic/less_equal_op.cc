// SPDX-License-Identifier: Apache-2.0
// less_equal: whether each value of X is at most the one of Y.
#include "operators/math/logic/comparison.h"

namespace millhopper {
namespace {

OpSchema Schema() { return ComparisonSchema("is at most"); }

void Run(OpContext& context) {
  RunComparison(context, [](auto x, auto y) { return x <= y; });
}

REGISTER_OPERATOR(less_equal, Schema, Run);

}  // namespace
}  // namespace millhopper
