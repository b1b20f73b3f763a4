// SPDX-License-Identifier: Apache-2.0
// elementwise_mul and elementwise_mul_grad.
#include <gtest/gtest.h>

#include "tests/operators/math/elementwise_checks.h"

namespace millhopper {
namespace {

TEST(ElementwiseMulOp, ComputesValueByValue) {
  CheckBinaryOperator("elementwise_mul", [](double x, double y) { return x * y; });
}

TEST(ElementwiseMulOp, HasTheGradientOfDifferences) { CheckBinaryGradient("elementwise_mul"); }

}  // namespace
}  // namespace millhopper
