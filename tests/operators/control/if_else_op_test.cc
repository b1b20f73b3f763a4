// SPDX-License-Identifier: Apache-2.0
// The operator if_else.
#include <gtest/gtest.h>

#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

// Sets `n` to 1 in the true block and to 2 in the false block; without a block it stays 0.
std::string Program(bool condition, const AttributeTexts& blocks) {
  return BlockText(0, -1,
                   {TensorText("c", "BOOL", {1}), TensorText("n", "INT64", {1}),
                    FillText("c", "BOOL", condition ? 1 : 0), FillText("n", "INT64", 0),
                    OpText("if_else", {{"Cond", {"c"}}}, {}, blocks)}) +
         BlockText(1, 0, {FillText("n", "INT64", 1)}) +
         BlockText(2, 0, {FillText("n", "INT64", 2)});
}

int64_t Branch(bool condition, const AttributeTexts& blocks) {
  ProgramRunner runner;
  runner.Main(Program(condition, blocks));
  return runner.Tensor("n").scalar<int64_t>();
}

const AttributeTexts kBoth = {{"true_block", "block_idx: 1"}, {"false_block", "block_idx: 2"}};

TEST(IfElseOp, RunsTheBlockOfTheCondition) {
  EXPECT_EQ(Branch(true, kBoth), 1);
  EXPECT_EQ(Branch(false, kBoth), 2);
}

TEST(IfElseOp, RunsNothingWhereABlockIsLeftOut) {
  EXPECT_EQ(Branch(true, {{"false_block", "block_idx: 2"}}), 0);
  EXPECT_EQ(Branch(false, {{"false_block", "block_idx: 2"}}), 2);
  EXPECT_EQ(Branch(true, {{"true_block", "block_idx: 1"}}), 1);
  EXPECT_EQ(Branch(false, {{"true_block", "block_idx: 1"}}), 0);
}

TEST(IfElseOp, RefusesToHaveNoBlockWhenChecked) {
  const std::vector<std::string> problems =
      ProgramRunner().Problems(Program(true, {}), ProgramRole::kMain);
  ASSERT_FALSE(problems.empty());
  EXPECT_NE(problems[0].find("neither true_block nor false_block is given"), std::string::npos)
      << problems[0];
}

TEST(IfElseOp, RefusesABlockThatIsNotInsideItsOwn) {
  ExpectError(ErrorCode::kInvalidArgument, "block 7", [] {
    Branch(true, {{"true_block", "block_idx: 7"}});
  });
}

}  // namespace
}  // namespace millhopper
