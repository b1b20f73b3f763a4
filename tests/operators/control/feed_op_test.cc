// SPDX-License-Identifier: Apache-2.0
// The operator feed.
#include <gtest/gtest.h>

#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

std::string Program(const std::string& column) {
  return BlockText(0, -1,
                   {"  vars { name: \"feed\" type { type: FEED_MINIBATCH } persistable: true }\n",
                    TensorText("x", "FP32", {-1, 2}),
                    OpText("feed", {{"X", {"feed"}}}, {{"Out", {"x"}}}, {{"col", column}})});
}

void Fill(ProgramRunner* runner) {
  auto* list = runner->scope().Var("feed")->GetMutable<std::vector<LoDTensor>>();
  *list = {MakeTensor<float>({1, 2}, {1, 2}), MakeTensor<float>({2, 2}, {3, 4, 5, 6}, {{0, 2}})};
}

TEST(FeedOp, TakesTheTensorOfItsColumn) {
  ProgramRunner runner;
  Fill(&runner);
  runner.Main(Program("i: 1"));
  EXPECT_EQ(ValueOf({runner.Tensor("x")}),
            ValueOf({MakeTensor<float>({2, 2}, {3, 4, 5, 6}, {{0, 2}})}));
  runner.Main(Program("i: 0"));
  EXPECT_EQ(ValuesOf<float>(runner.Tensor("x")), (std::vector<float>{1, 2}));
}

TEST(FeedOp, RefusesAColumnThatWasNotFed) {
  ProgramRunner runner;
  Fill(&runner);
  ExpectError(ErrorCode::kInvalidArgument,
              "attribute 'col' is 2, but variable 'feed' was fed 2 tensors",
              [&] { runner.Main(Program("i: 2")); });
}

TEST(FeedOp, RefusesAListThatWasNotFed) {
  ProgramRunner runner;
  ExpectError(ErrorCode::kInvalidArgument, "variable 'feed' has no value yet",
              [&] { runner.Main(Program("i: 0")); });
}

TEST(FeedOp, RefusesANegativeColumn) {
  ProgramRunner runner;
  ExpectError(ErrorCode::kInvalidArgument, "attribute 'col' is -1; it must be at least 0",
              [&] { runner.Main(Program("i: -1")); });
}

}  // namespace
}  // namespace millhopper
