// SPDX-License-Identifier: Apache-2.0
// The operator fetch.
#include <gtest/gtest.h>

#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

std::string Program(const std::vector<std::string>& columns) {
  std::vector<std::string> parts = {
      "  vars { name: \"fetch\" type { type: FETCH_LIST } persistable: true }\n",
      TensorText("x", "FP32", {1}), FillText("x", "FP32", 0)};
  for (const std::string& column : columns) {
    parts.push_back(OpText("increment", {{"X", {"x"}}}, {{"Out", {"x"}}}));
    parts.push_back(OpText("fetch", {{"X", {"x"}}}, {{"Out", {"fetch"}}}, {{"col", column}}));
  }
  return BlockText(0, -1, parts);
}

TEST(FetchOp, PutsTensorsIntoTheirColumns) {
  ProgramRunner runner;
  runner.Main(Program({"i: 2", "i: 0"}));
  const auto& list = runner.scope().Find("fetch")->Get<std::vector<LoDTensor>>();
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[2].scalar<float>(), 1);  // the value at the fetch, though x has changed since
  EXPECT_EQ(list[0].scalar<float>(), 2);
  EXPECT_FALSE(list[1].initialized());
}

TEST(FetchOp, RefusesANegativeColumn) {
  ProgramRunner runner;
  ExpectError(ErrorCode::kInvalidArgument, "attribute 'col' is -1; it must be at least 0",
              [&] { runner.Main(Program({"i: -1"})); });
}

TEST(FetchOp, RefusesAVariableWithoutAValue) {
  ProgramRunner runner;
  ExpectError(ErrorCode::kInvalidArgument, "variable 'y' has no value yet", [&] {
    runner.Main(
        BlockText(0, -1,
                  {"  vars { name: \"fetch\" type { type: FETCH_LIST } persistable: true }\n",
                   TensorText("y", "FP32", {1}),
                   OpText("fetch", {{"X", {"y"}}}, {{"Out", {"fetch"}}}, {{"col", "i: 0"}})}));
  });
}

}  // namespace
}  // namespace millhopper
