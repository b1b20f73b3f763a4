// SPDX-License-Identifier: Apache-2.0
// logical_not.
#include <gtest/gtest.h>

#include <vector>

#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

TEST(LogicalNotOp, TurnsBoolsOver) {
  const LoDTensor x = MakeTensor<bool>({2, 1}, {true, false}, {{0, 1, 2}});
  for (const RunOpOptions& options : {RunOpOptions(), RunOpOptions{{{"Out", "X"}}, 0}}) {
    const LoDTensor out = RunOp("logical_not", {{"X", x}}, {"Out"}, {}, options).at("Out");
    EXPECT_EQ(ValuesOf<bool>(out), (std::vector<bool>{false, true}));
    EXPECT_EQ(out.dims(), x.dims());
    EXPECT_EQ(out.lod(), x.lod());
  }
}

TEST(LogicalNotOp, TakesNoRows) {
  const LoDTensor none = MakeTensor<bool>({0, 2}, {});
  EXPECT_EQ(RunOp("logical_not", {{"X", none}}, {"Out"}).at("Out").dims(), (Dims{0, 2}));
}

TEST(LogicalNotOp, RefusesNumbers) {
  const LoDTensor number = MakeTensor<int64_t>({1}, {0});
  ExpectRefused("input 'X' (variable 'x_variable') is int64 [1]; the type taken is bool",
                "logical_not", {{"X", number}}, {"Out"});
}

}  // namespace
}  // namespace millhopper
