// SPDX-License-Identifier: Apache-2.0
// not_equal.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/operators/math/logic/comparison_checks.h"
#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

TEST(NotEqualOp, ComparesValueByValue) { CheckComparison("not_equal", {true, false, true}); }

TEST(NotEqualOp, TakesFloatsWithin1e8ForEqual) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const LoDTensor x = MakeTensor<double>({4}, {1.0, infinity, 1.0, nan});
  const LoDTensor y = MakeTensor<double>({4}, {1.0 + 9e-9, infinity, 1.0 + 2e-8, nan});
  EXPECT_EQ(ValuesOf<bool>(RunOp("not_equal", {{"X", x}, {"Y", y}}, {"Out"}).at("Out")),
            (std::vector<bool>{false, false, true, true}));
}

}  // namespace
}  // namespace millhopper
