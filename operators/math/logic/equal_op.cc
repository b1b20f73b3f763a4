// SPDX-License-Identifier: Apache-2.0
// equal: whether each value of X equals the one of Y.
#include "operators/math/logic/comparison.h"

namespace millhopper {
namespace {

OpSchema Schema() { return ComparisonSchema("equals"); }

void Run(OpContext& context) {
  RunComparison(context, [](auto x, auto y) { return AreEqual(x, y); });
}

REGISTER_OPERATOR(equal, Schema, Run);

}  // namespace
}  // namespace millhopper
