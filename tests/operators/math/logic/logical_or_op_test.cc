// SPDX-License-Identifier: Apache-2.0
// logical_or.
#include <gtest/gtest.h>

#include "tests/operators/math/logic/logical_checks.h"

namespace millhopper {
namespace {

TEST(LogicalOrOp, CombinesBools) { CheckLogical("logical_or", {false, true, true, true}); }

}  // namespace
}  // namespace millhopper
