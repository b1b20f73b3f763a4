// SPDX-License-Identifier: Apache-2.0
// less_equal.
#include <gtest/gtest.h>

#include "tests/operators/math/logic/comparison_checks.h"

namespace millhopper {
namespace {

TEST(LessEqualOp, ComparesValueByValue) { CheckComparison("less_equal", {true, true, false}); }

}  // namespace
}  // namespace millhopper
