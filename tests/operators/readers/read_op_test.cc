// SPDX-License-Identifier: Apache-2.0
// The operator read.
#include <gtest/gtest.h>

#include "framework/memory/memory.h"
#include "tests/fakes/sources.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

const std::string kVariables = ReaderText("source") + TensorText("x", "INT64", {1, 1}) +
                               TensorText("y", "INT64", {1, 1}) +
                               TensorText("has_data", "BOOL", {1});

std::string Read(const SlotTexts& outputs, const AttributeTexts& attributes = {}) {
  return OpText("read", {{"Reader", {"source"}}}, outputs, attributes);
}

std::unique_ptr<ReaderBase> Numbers(int64_t records, int64_t load_error = -1) {
  SourceSpec spec;
  spec.records = records;
  spec.load_error = load_error;
  return MakePlannedSource(spec);
}

TEST(ReadOp, PutsEachSlotIntoItsVariable) {
  const std::string startup =
      BlockText(0, -1,
                {ReaderText("source", {{"FP32", {2, 3}}, {"FP32", {1, 1}}}),
                 OpText("create_random_data_generator", {}, {{"Out", {"source"}}})});
  ProgramRunner direct;
  direct.Startup(startup);
  std::vector<LoDTensor> expected;
  direct.Reader("source").ReadNext(&expected);
  ProgramRunner runner;
  runner.Startup(startup);
  runner.Main(BlockText(0, -1, {kVariables, Read({{"Out", {"x", "y"}}})}));
  EXPECT_EQ(ValueOf({runner.Tensor("x"), runner.Tensor("y")}), ValueOf(expected));
}

TEST(ReadOp, ThrowsEndOfDataAgainAndAgain) {
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers(1));
  runner.Main(BlockText(0, -1, {kVariables, Read({{"Out", {"x"}}})}));
  EXPECT_EQ(runner.Tensor("x").scalar<int64_t>(), 0);
  for (int i = 0; i < 2; ++i) {
    const std::optional<Thrown> thrown = ErrorOf([&] { runner.Again(); });
    ASSERT_TRUE(thrown);
    EXPECT_TRUE(thrown->is_end);
    EXPECT_NE(thrown->text.find("while running operator 'read' (main.pbtxt:"), std::string::npos)
        << thrown->text;
  }
}

TEST(ReadOp, TellsTheEndInHasDataAndLeavesTheOutputsAsTheyWere) {
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers(2));
  runner.Main(BlockText(
      0, -1,
      {ReaderText("source"), TensorText("x", "INT64", {1, 1}, 0, true),
       TensorText("has_data", "BOOL", {1}), Read({{"Out", {"x"}}, {"HasData", {"has_data"}}})}));
  EXPECT_TRUE(runner.Tensor("has_data").scalar<bool>());
  EXPECT_EQ(runner.Tensor("x").scalar<int64_t>(), 0);
  runner.Again();
  EXPECT_EQ(runner.Tensor("x").scalar<int64_t>(), 1);
  for (int i = 0; i < 2; ++i) {
    runner.Again();
    EXPECT_FALSE(runner.Tensor("has_data").scalar<bool>());
    EXPECT_EQ(runner.Tensor("x").scalar<int64_t>(), 1);
  }
}

TEST(ReadOp, ThrowsAnErrorEvenIfHasDataIsConnected) {
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers(3, 1));
  runner.Main(BlockText(0, -1, {kVariables, Read({{"Out", {"x"}}, {"HasData", {"has_data"}}})}));
  const std::optional<Thrown> first = ErrorOf([&] { runner.Again(); });
  ASSERT_TRUE(first);
  EXPECT_FALSE(first->is_end);
  EXPECT_EQ(ErrorOf([&] { runner.Again(); }), first);
}

TEST(ReadOp, RefusesANumberOfOutputsThatIsNotThatOfTheSlots) {
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers(3));
  ExpectError(ErrorCode::kInvalidArgument, "has 1 slots, but slot 'Out' has 2 arguments", [&] {
    runner.Main(BlockText(0, -1, {kVariables, Read({{"Out", {"x", "y"}}})}));
  });
  std::vector<LoDTensor> element;  // the refused read took no element
  runner.Reader("source").ReadNext(&element);
  EXPECT_EQ(element[0].scalar<int64_t>(), 0);
}

TEST(ReadOp, TakesNoMoreMemoryTheLongerItReads) {
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers(1000));
  runner.Main(BlockText(0, -1, {kVariables, Read({{"Out", {"x"}}})}));
  for (int i = 0; i < 10; ++i) runner.Again();
  const size_t in_use = BufferPool::At(Place()).in_use_bytes();
  for (int i = 0; i < 900; ++i) runner.Again();
  EXPECT_EQ(BufferPool::At(Place()).in_use_bytes(), in_use);
}

TEST(ReadOp, RefusesToHideTheEndWhenChecked) {
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers(1));
  const std::vector<std::string> problems = runner.Problems(
      BlockText(0, -1, {kVariables, Read({{"Out", {"x"}}}, {{"throw_eof_exp", "b: false"}})}),
      ProgramRole::kMain);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find("connect the output HasData instead"), std::string::npos)
      << problems[0];
  EXPECT_TRUE(
      runner
          .Problems(BlockText(0, -1,
                              {kVariables, Read({{"Out", {"x"}}}, {{"throw_eof_exp", "b: true"},
                                                                   {"infer_out", "b: true"}})}),
                    ProgramRole::kMain)
          .empty());
}

}  // namespace
}  // namespace millhopper
