// SPDX-License-Identifier: Apache-2.0
// The operator conditional_block.
#include <gtest/gtest.h>

#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

// The block increments `n`, which begins at 0.
std::string Program(const std::vector<std::string>& inputs, bool scalar) {
  return BlockText(
             0, -1,
             {TensorText("yes", "BOOL", {1}), TensorText("no", "BOOL", {1}),
              TensorText("two", "BOOL", {2}), TensorText("none", "FP32", {0}),
              TensorText("unset", "FP32", {1}), TensorText("n", "INT64", {1}),
              FillText("yes", "BOOL", 1), FillText("no", "BOOL", 0), FillText("n", "INT64", 0),
              OpText("fill_constant", {}, {{"Out", {"none"}}}, {{"shape", "ints: 0"}}),
              OpText("fill_constant", {}, {{"Out", {"two"}}},
                     {{"shape", "ints: 2"}, {"dtype", "i: 0"}, {"value", "f: 1"}}),
              OpText("conditional_block", {{"X", inputs}, {"Params", {"n"}}}, {{"Out", {"n"}}},
                     {{"sub_block", "block_idx: 1"},
                      {"is_scalar_condition", scalar ? "b: true" : "b: false"}})}) +
         BlockText(1, 0, {OpText("increment", {{"X", {"n"}}}, {{"Out", {"n"}}})});
}

int64_t Runs(const std::vector<std::string>& inputs, bool scalar) {
  ProgramRunner runner;
  runner.Main(Program(inputs, scalar));
  return runner.Tensor("n").scalar<int64_t>();
}

TEST(ConditionalBlockOp, DecidesByTheValueOfAScalarCondition) {
  EXPECT_EQ(Runs({"yes"}, true), 1);
  EXPECT_EQ(Runs({"no"}, true), 0);
}

TEST(ConditionalBlockOp, DecidesByEmptinessOtherwise) {
  EXPECT_EQ(Runs({"no"}, false), 1);
  EXPECT_EQ(Runs({"no", "two"}, false), 1);
  EXPECT_EQ(Runs({"none"}, false), 0);
  EXPECT_EQ(Runs({"yes", "none"}, false), 0);
}

TEST(ConditionalBlockOp, RefusesAScalarConditionOfSeveralValues) {
  ExpectError(ErrorCode::kInvalidArgument, "a tensor of one value is needed here",
              [] { Runs({"two"}, true); });
}

TEST(ConditionalBlockOp, RefusesAConditionWithoutAValue) {
  ExpectError(ErrorCode::kInvalidArgument, "variable 'unset' has no value yet",
              [] { Runs({"unset"}, false); });
}

TEST(ConditionalBlockOp, RefusesSeveralScalarConditionsWhenChecked) {
  const std::vector<std::string> problems =
      ProgramRunner().Problems(Program({"yes", "no"}, true), ProgramRole::kMain);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find("with is_scalar_condition slot 'X' takes 1 argument, not 2"),
            std::string::npos)
      << problems[0];
}

}  // namespace
}  // namespace millhopper
