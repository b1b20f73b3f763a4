// SPDX-License-Identifier: Apache-2.0
// equal.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/operators/math/logic/comparison_checks.h"
#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

TEST(EqualOp, ComparesValueByValue) { CheckComparison("equal", {false, true, false}); }

TEST(EqualOp, TakesFloatsWithin1e8ForEqual) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const LoDTensor x = MakeTensor<double>({4}, {1.0, infinity, 1.0, nan});
  const LoDTensor y = MakeTensor<double>({4}, {1.0 + 9e-9, infinity, 1.0 + 2e-8, nan});
  EXPECT_EQ(ValuesOf<bool>(RunOp("equal", {{"X", x}, {"Y", y}}, {"Out"}).at("Out")),
            (std::vector<bool>{true, true, false, false}));
}

}  // namespace
}  // namespace millhopper
