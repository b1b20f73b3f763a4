// SPDX-License-Identifier: Apache-2.0
// not_equal: whether each value of X differs from the one of Y.
#include "operators/math/logic/comparison.h"

namespace millhopper {
namespace {

OpSchema Schema() { return ComparisonSchema("differs from"); }

void Run(OpContext& context) {
  RunComparison(context, [](auto x, auto y) { return !AreEqual(x, y); });
}

REGISTER_OPERATOR(not_equal, Schema, Run);

}  // namespace
}  // namespace millhopper
