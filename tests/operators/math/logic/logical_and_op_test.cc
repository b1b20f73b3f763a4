// SPDX-License-Identifier: Apache-2.0
// logical_and.
#include <gtest/gtest.h>

#include "tests/operators/math/logic/logical_checks.h"

namespace millhopper {
namespace {

TEST(LogicalAndOp, CombinesBools) { CheckLogical("logical_and", {false, false, false, true}); }

}  // namespace
}  // namespace millhopper
