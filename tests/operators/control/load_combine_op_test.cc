// SPDX-License-Identifier: Apache-2.0
// The operator load_combine.
#include <gtest/gtest.h>

#include "framework/tensor/tensor_stream.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

const std::string kPrefix = TensorText("a", "FP32", {-1}, 0, true) +
                            TensorText("b", "FP32", {-1}, 0, true) +
                            TensorText("c", "FP32", {-1}, 0, true);

std::string Program(const std::string& path, const std::vector<std::string>& names) {
  return BlockText(0, -1,
                   {kPrefix, OpText("load_combine", {}, {{"Out", names}},
                                    {{"file_path", "s: \"" + path + "\""}})});
}

std::string TwoTensors() {
  std::string bytes;
  AppendTensor(MakeTensor<float>({2}, {1, 2}), &bytes);
  AppendTensor(MakeTensor<int64_t>({1}, {3}), &bytes);
  return bytes;
}

TEST(LoadCombineOp, ReadsTensorsInTheOrderOfTheArguments) {
  const TempFile file("all", TwoTensors());
  ProgramRunner runner;
  runner.Main(Program(file.path(), {"b", "a"}));
  EXPECT_EQ(ValuesOf<float>(runner.Tensor("b")), (std::vector<float>{1, 2}));
  EXPECT_EQ(ValuesOf<int64_t>(runner.Tensor("a")), std::vector<int64_t>{3});
}

TEST(LoadCombineOp, RefusesAnotherNumberOfTensorsAndLeavesTheOutputsAsTheyWere) {
  const TempFile file("all", TwoTensors());
  ProgramRunner runner;
  *runner.scope().Var("a")->GetMutable<LoDTensor>() = MakeTensor<float>({1}, {7});
  ExpectError(ErrorCode::kDataLoss, "while reading tensor 2 of 3", [&] {
    runner.Main(Program(file.path(), {"a", "b", "c"}));
  });
  ExpectError(ErrorCode::kDataLoss, ", after the 1 tensors that are wanted",
              [&] { runner.Main(Program(file.path(), {"a"})); });
  EXPECT_EQ(runner.scope().Find("a")->Get<LoDTensor>().scalar<float>(), 7);
}

}  // namespace
}  // namespace millhopper
