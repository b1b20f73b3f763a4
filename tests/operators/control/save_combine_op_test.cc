// SPDX-License-Identifier: Apache-2.0
// The operator save_combine.
#include <gtest/gtest.h>

#include "framework/tensor/tensor_stream.h"
#include "tests/files/record_files.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

std::string Save(const std::vector<LoDTensor>& tensors, const AttributeTexts& more = {}) {
  const std::string path = NewFolder("save_combine") + "/all";
  ProgramRunner runner;
  std::vector<std::string> parts, names;
  for (size_t i = 0; i < tensors.size(); ++i) {
    names.push_back(StrCat("x", i));
    parts.push_back(TensorText(names[i], "FP32", {-1}, 0, true));
    *runner.scope().Var(names[i])->GetMutable<LoDTensor>() = tensors[i];
  }
  AttributeTexts attributes = more;
  attributes.emplace_back("file_path", "s: \"" + path + "\"");
  parts.push_back(OpText("save_combine", {{"X", names}}, {}, attributes));
  runner.Main(BlockText(0, -1, parts));
  return ReadFile(path);
}

TEST(SaveCombineOp, WritesTensorsInTheOrderOfTheArguments) {
  const LoDTensor first = MakeTensor<float>({2}, {1, 2});
  const LoDTensor second = MakeTensor<int64_t>({1}, {3}, {{0, 1}});
  std::string expected;
  AppendTensor(first, &expected);
  AppendTensor(second, &expected);
  EXPECT_EQ(Save({first, second}), expected);
  EXPECT_NE(Save({second, first}), expected);
}

TEST(SaveCombineOp, WritesFloatsInSixteenBits) {
  const size_t whole = Save({MakeTensor<float>({8}, std::vector<float>(8, 1))}).size();
  EXPECT_EQ(Save({MakeTensor<float>({8}, std::vector<float>(8, 1))}, {{"save_as_fp16", "b: true"}})
                .size(),
            whole - 16);
}

}  // namespace
}  // namespace millhopper
