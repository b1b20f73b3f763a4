// SPDX-License-Identifier: Apache-2.0
// elementwise_sub and elementwise_sub_grad.
#include <gtest/gtest.h>

#include "tests/operators/math/elementwise_checks.h"

namespace millhopper {
namespace {

TEST(ElementwiseSubOp, ComputesValueByValue) {
  CheckBinaryOperator("elementwise_sub", [](double x, double y) { return x - y; });
}

TEST(ElementwiseSubOp, HasTheGradientOfDifferences) { CheckBinaryGradient("elementwise_sub"); }

}  // namespace
}  // namespace millhopper
