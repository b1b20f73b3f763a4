// SPDX-License-Identifier: Apache-2.0
// elementwise_div and elementwise_div_grad.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/operators/math/elementwise_checks.h"
#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

TEST(ElementwiseDivOp, ComputesValueByValue) {
  CheckBinaryOperator("elementwise_div", [](double x, double y) { return x / y; });
}

TEST(ElementwiseDivOp, HasTheGradientOfDifferences) { CheckBinaryGradient("elementwise_div"); }

TEST(ElementwiseDivOp, DividesIntegersTowardsZeroAndNotByZero) {
  const LoDTensor x = MakeTensor<int32_t>({3}, {-7, 7, std::numeric_limits<int32_t>::lowest()});
  const LoDTensor y = MakeTensor<int32_t>({3}, {2, -2, -1});
  EXPECT_EQ(ValuesOf<int32_t>(RunOp("elementwise_div", {{"X", x}, {"Y", y}}, {"Out"}).at("Out")),
            (std::vector<int32_t>{-3, -3, std::numeric_limits<int32_t>::lowest()}));
  const LoDTensor zero = MakeTensor<int32_t>({1}, {0});
  ExpectRefused("an integer is divided by zero", "elementwise_div", {{"X", x}, {"Y", zero}},
                {"Out"});
}

TEST(ElementwiseDivOp, DividesFloatsByZeroAsTheyAre) {
  const LoDTensor one = MakeTensor<float>({1}, {1});
  const LoDTensor zero = MakeTensor<float>({1}, {0});
  EXPECT_EQ(
      ValuesOf<float>(RunOp("elementwise_div", {{"X", one}, {"Y", zero}}, {"Out"}).at("Out"))[0],
      std::numeric_limits<float>::infinity());
}

}  // namespace
}  // namespace millhopper
