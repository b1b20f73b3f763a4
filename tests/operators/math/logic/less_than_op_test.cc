// SPDX-License-Identifier: Apache-2.0
// less_than.
#include <gtest/gtest.h>

#include "tests/operators/math/logic/comparison_checks.h"

namespace millhopper {
namespace {

TEST(LessThanOp, ComparesValueByValue) { CheckComparison("less_than", {true, false, false}); }

}  // namespace
}  // namespace millhopper
