// SPDX-License-Identifier: Apache-2.0
// logical_xor.
#include <gtest/gtest.h>

#include "tests/operators/math/logic/logical_checks.h"

namespace millhopper {
namespace {

TEST(LogicalXorOp, CombinesBools) { CheckLogical("logical_xor", {false, true, true, false}); }

}  // namespace
}  // namespace millhopper
