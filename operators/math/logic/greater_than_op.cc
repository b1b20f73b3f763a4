// SPDX-License-Identifier: Apache-2.0
// greater_than: whether each value of X is greater than the one of Y.
#include "operators/math/logic/comparison.h"

namespace millhopper {
namespace {

OpSchema Schema() { return ComparisonSchema("is greater than"); }

void Run(OpContext& context) {
  RunComparison(context, [](auto x, auto y) { return x > y; });
}

REGISTER_OPERATOR(greater_than, Schema, Run);

}  // namespace
}  // namespace millhopper
