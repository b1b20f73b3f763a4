// SPDX-License-Identifier: Apache-2.0
// elementwise_add and elementwise_add_grad.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/operators/math/elementwise_checks.h"
#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

TEST(ElementwiseAddOp, ComputesValueByValue) {
  CheckBinaryOperator("elementwise_add", [](double x, double y) { return x + y; });
}

TEST(ElementwiseAddOp, HasTheGradientOfDifferences) { CheckBinaryGradient("elementwise_add"); }

TEST(ElementwiseAddOp, WrapsIntegersAround) {
  const LoDTensor x = MakeTensor<int32_t>({1}, {std::numeric_limits<int32_t>::max()});
  const LoDTensor one = MakeTensor<int32_t>({1}, {1});
  EXPECT_EQ(
      ValuesOf<int32_t>(RunOp("elementwise_add", {{"X", x}, {"Y", one}}, {"Out"}).at("Out"))[0],
      std::numeric_limits<int32_t>::lowest());
}

TEST(ElementwiseAddOp, TakesNoTimeForValuesThatAreNotThere) {
  const int64_t many = int64_t{1} << 39;
  const LoDTensor x = MakeTensor<float>({many, many, 0}, {});
  const LoDTensor one = MakeTensor<float>({1}, {1});
  EXPECT_EQ(RunOp("elementwise_add", {{"X", x}, {"Y", one}}, {"Out"}).at("Out").dims(), x.dims());
}

}  // namespace
}  // namespace millhopper
