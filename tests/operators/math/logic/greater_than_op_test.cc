// SPDX-License-Identifier: Apache-2.0
// greater_than.
#include <gtest/gtest.h>

#include "tests/operators/math/logic/comparison_checks.h"

namespace millhopper {
namespace {

TEST(GreaterThanOp, ComparesValueByValue) { CheckComparison("greater_than", {false, false, true}); }

}  // namespace
}  // namespace millhopper
