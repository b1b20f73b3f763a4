// SPDX-License-Identifier: Apache-2.0
// sgd.
#include <gtest/gtest.h>

#include <vector>

#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

TEST(SgdOp, StepsAgainstTheGradient) {
  const LoDTensor param = MakeTensor<double>({3, 1}, {1, -2, 0.5}, {{0, 3}});
  const LoDTensor grad = MakeTensor<double>({3, 1}, {0.25, 4, -8});
  const LoDTensor rate = MakeTensor<double>({1}, {0.5});
  const SlotTensors inputs = {{"Param", param}, {"Grad", grad}, {"LearningRate", rate}};
  for (const RunOpOptions& options : {RunOpOptions(), RunOpOptions{{{"ParamOut", "Param"}}, 0},
                                      RunOpOptions{{{"ParamOut", "Grad"}}, 0}}) {
    const LoDTensor out = RunOp("sgd", inputs, {"ParamOut"}, {}, options).at("ParamOut");
    EXPECT_EQ(ValuesOf<double>(out), (std::vector<double>{0.875, -4, 4.5}));
    EXPECT_EQ(out.dims(), param.dims());
    EXPECT_EQ(out.lod(), param.lod());
    // The operator's input shares the memory of `param`, so the operator does not write to it.
    EXPECT_EQ(ValuesOf<double>(param), (std::vector<double>{1, -2, 0.5}));
  }
}

TEST(SgdOp, StepsFloatsAndTakesNoRows) {
  const LoDTensor one = MakeTensor<float>({1}, {1});
  EXPECT_EQ(ValuesOf<float>(
                RunOp("sgd", {{"Param", one}, {"Grad", one}, {"LearningRate", one}}, {"ParamOut"})
                    .at("ParamOut")),
            (std::vector<float>{0}));
  const LoDTensor none = MakeTensor<float>({0}, {});
  EXPECT_EQ(RunOp("sgd", {{"Param", none}, {"Grad", none}, {"LearningRate", one}}, {"ParamOut"})
                .at("ParamOut")
                .numel(),
            0);
}

TEST(SgdOp, RefusesWhatDoesNotFit) {
  const LoDTensor param = MakeTensor<float>({2}, {1, 2});
  const LoDTensor rate = MakeTensor<float>({1}, {1});
  ExpectRefused(
      "input 'Grad' (variable 'grad_variable') is float32 [1]; float32 [2] is needed, as "
      "'Param' is",
      "sgd", {{"Param", param}, {"Grad", rate}, {"LearningRate", rate}}, {"ParamOut"});
  ExpectRefused(
      "input 'LearningRate' (variable 'learningrate_variable') is float32 [2]; float32 [1] is "
      "needed, the type of 'Param'",
      "sgd", {{"Param", param}, {"Grad", param}, {"LearningRate", param}}, {"ParamOut"});
  ExpectRefused("is float64 [1]; float32 [1] is needed", "sgd",
                {{"Param", param}, {"Grad", param}, {"LearningRate", MakeTensor<double>({1}, {1})}},
                {"ParamOut"});
  const LoDTensor ints = MakeTensor<int32_t>({1}, {1});
  ExpectRefused(
      "input 'Param' (variable 'param_variable') is int32 [1]; the types taken are float32", "sgd",
      {{"Param", ints}, {"Grad", ints}, {"LearningRate", ints}}, {"ParamOut"});
}

}  // namespace
}  // namespace millhopper
