// SPDX-License-Identifier: Apache-2.0
// less_than: whether each value of X is less than the one of Y.
#include "operators/math/logic/comparison.h"

namespace millhopper {
namespace {

OpSchema Schema() { return ComparisonSchema("is less than"); }

void Run(OpContext& context) {
  RunComparison(context, [](auto x, auto y) { return x < y; });
}

REGISTER_OPERATOR(less_than, Schema, Run);

}  // namespace
}  // namespace millhopper
