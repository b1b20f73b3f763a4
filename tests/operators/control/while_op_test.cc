// SPDX-License-Identifier: Apache-2.0
// The operator while. F40 is an entry in tests/faults.md.
#include <gtest/gtest.h>
#include <malloc.h>

#include <chrono>
#include <thread>

#include "framework/base/stop.h"
#include "framework/memory/memory.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

// A loop that counts from 0 to `limit`, with `body` before the counting.
std::string CountingLoop(double limit, const std::vector<std::string>& body = {}) {
  std::vector<std::string> block = body;
  block.push_back(OpText("increment", {{"X", {"i"}}}, {{"Out", {"i"}}}));
  block.push_back(OpText("less_than", {{"X", {"i"}}, {"Y", {"limit"}}}, {{"Out", {"more"}}}));
  return BlockText(0, -1,
                   {TensorText("i", "INT64", {1}), TensorText("limit", "INT64", {1}),
                    TensorText("more", "BOOL", {1}), TensorText("seen", "INT64", {1}),
                    FillText("i", "INT64", 0), FillText("limit", "INT64", limit),
                    OpText("less_than", {{"X", {"i"}}, {"Y", {"limit"}}}, {{"Out", {"more"}}}),
                    OpText("while", {{"X", {"limit"}}, {"Condition", {"more"}}}, {{"Out", {"i"}}},
                           {{"sub_block", "block_idx: 1"}, {"is_test", "b: true"}})}) +
         BlockText(1, 0, block);
}

TEST(WhileOp, RunsAsLongAsTheConditionIsTrue) {
  ProgramRunner runner;
  runner.Main(CountingLoop(5));
  EXPECT_EQ(runner.Tensor("i").scalar<int64_t>(), 5);
  EXPECT_EQ(runner.run().steps, 5);
}

TEST(WhileOp, RunsNotOnceIfTheConditionIsFalse) {
  ProgramRunner runner;
  runner.Main(CountingLoop(0));
  EXPECT_EQ(runner.Tensor("i").scalar<int64_t>(), 0);
  EXPECT_EQ(runner.run().steps, 0);
}

TEST(WhileOp, GivesEachStepFreshVariables) {
  // Step 0 writes x; step 1 reads it before it is written.
  const std::string text =
      CountingLoop(2, {TensorText("x", "INT64", {1}), TensorText("first", "BOOL", {1}),
                       TensorText("zero", "INT64", {1}), FillText("zero", "INT64", 0),
                       OpText("equal", {{"X", {"i"}}, {"Y", {"zero"}}}, {{"Out", {"first"}}}),
                       OpText("if_else", {{"Cond", {"first"}}}, {},
                              {{"true_block", "block_idx: 2"}, {"false_block", "block_idx: 3"}})}) +
      BlockText(2, 1, {FillText("x", "INT64", 7)}) +
      BlockText(3, 1, {OpText("assign", {{"X", {"x"}}}, {{"Out", {"seen"}}})});
  ProgramRunner runner;
  ExpectError(ErrorCode::kInvalidArgument, "variable 'x' has no value yet",
              [&] { runner.Main(text); });
}

// F40: only a limit on steps ends a loop. The executor does not try to find out whether it would
// end.
TEST(WhileOp, CountsTheStepsOfNestedLoopsTogether) {
  const std::string text =
      CountingLoop(
          3, {TensorText("k", "INT64", {1}), TensorText("more_k", "BOOL", {1}),
              FillText("k", "INT64", 0),
              OpText("less_than", {{"X", {"k"}}, {"Y", {"limit"}}}, {{"Out", {"more_k"}}}),
              OpText("while", {{"Condition", {"more_k"}}}, {}, {{"sub_block", "block_idx: 2"}})}) +
      BlockText(2, 1,
                {OpText("increment", {{"X", {"k"}}}, {{"Out", {"k"}}}),
                 OpText("less_than", {{"X", {"k"}}, {"Y", {"limit"}}}, {{"Out", {"more_k"}}})});
  ProgramRunner runner;
  runner.Main(text);
  EXPECT_EQ(runner.run().steps, 3 + 3 * 3);

  RunState enough;
  enough.max_steps = 12;
  ProgramRunner bounded({}, enough);
  bounded.Main(text);
  bounded.Again();  // the count begins anew
  EXPECT_EQ(bounded.run().steps, 12);

  RunState few;
  few.max_steps = 11;
  ProgramRunner stopped({}, few);
  ExpectError(ErrorCode::kResourceLimit, "the loops have run --max_steps=11 steps",
              [&] { stopped.Main(text); });
}

TEST(WhileOp, IsFlatInMemoryOverAMillionSteps) {
  const auto loop = [](double steps) {
    return CountingLoop(steps, {TensorText("x", "FP32", {100}),
                                OpText("fill_constant", {}, {{"Out", {"x"}}},
                                       {{"shape", "ints: 100"}, {"value", "f: 1"}})});
  };
  ProgramRunner first;
  first.Main(loop(1000));
  const BufferPool& pool = BufferPool::At(Place());
  const size_t buffers = pool.in_use_bytes() + pool.idle_bytes();
  const size_t heap = mallinfo2().uordblks;
  ProgramRunner second;
  second.Main(loop(1e6));
  EXPECT_EQ(second.run().steps, 1000000);
  // The second program takes some memory, but far less than a byte per step.
  EXPECT_LT(pool.in_use_bytes() + pool.idle_bytes(), buffers + 16384);
  EXPECT_LT(mallinfo2().uordblks, heap + 200000);
}

TEST(WhileOp, RefusesAConditionThatIsNoSingleBool) {
  const auto loop_over = [](const std::string& dtype, int64_t dim, int type) {
    return BlockText(
               0, -1,
               {TensorText("c", dtype, {dim}),
                OpText("fill_constant", {}, {{"Out", {"c"}}},
                       {{"shape", StrCat("ints: ", dim)}, {"dtype", StrCat("i: ", type)}}),
                OpText("while", {{"Condition", {"c"}}}, {}, {{"sub_block", "block_idx: 1"}})}) +
           BlockText(1, 0, {});
  };
  ProgramRunner runner;
  ExpectError(ErrorCode::kInvalidArgument, "the tensor is float32 but bool is needed",
              [&] { runner.Main(loop_over("FP32", 1, 5)); });
  ExpectError(ErrorCode::kInvalidArgument, "one value is needed here, not one of dims [2]",
              [&] { runner.Main(loop_over("BOOL", 2, 0)); });
}

TEST(WhileOp, StopsWhenAskedTo) {
  ProgramRunner runner;
  RequestStop();
  ExpectError(ErrorCode::kCancelled, "", [&] { runner.Main(CountingLoop(5)); });
  ClearStop();
}

TEST(WhileOp, StopsWhenItsBodyIsEmpty) {
  ProgramRunner runner;
  std::thread later([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    RequestStop();
  });
  ExpectError(ErrorCode::kCancelled, "", [&] {
    runner.Main(BlockText(0, -1,
                          {TensorText("more", "BOOL", {1}), FillText("more", "BOOL", 1),
                           OpText("while", {{"Condition", {"more"}}}, {},
                                  {{"sub_block", "block_idx: 1"}})}) +
                BlockText(1, 0, {}));
  });
  later.join();
  ClearStop();
}

}  // namespace
}  // namespace millhopper
