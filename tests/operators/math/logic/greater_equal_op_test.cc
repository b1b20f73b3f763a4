// SPDX-License-Identifier: Apache-2.0
// greater_equal.
#include <gtest/gtest.h>

#include "tests/operators/math/logic/comparison_checks.h"

namespace millhopper {
namespace {

TEST(GreaterEqualOp, ComparesValueByValue) {
  CheckComparison("greater_equal", {false, true, true});
}

}  // namespace
}  // namespace millhopper
