// SPDX-License-Identifier: Apache-2.0
// adam.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/operators/nn/optimizer_checks.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

SlotTensors Inputs() {
  return OptimizerInputs({{"Moment1", MakeTensor<double>({3}, {0.5, 0, -1})},
                          {"Moment2", MakeTensor<double>({3}, {0.25, 1, 2})},
                          {"Beta1Pow", MakeTensor<double>({1}, {0.81})},
                          {"Beta2Pow", MakeTensor<double>({1}, {0.998})}});
}

const std::vector<std::string>& Outputs() {
  static const auto* outputs = new std::vector<std::string>{"ParamOut", "Moment1Out", "Moment2Out"};
  return *outputs;
}

TEST(AdamOp, StepsByBothMoments) {
  const double beta1 = 0.8f, beta2 = 0.75f, epsilon = 0.5f;
  const RunOpOptions same = {
      {{"ParamOut", "Param"}, {"Moment1Out", "Moment1"}, {"Moment2Out", "Moment2"}}, 0};
  for (const RunOpOptions& options : {RunOpOptions(), same}) {
    const auto out = RunOp("adam", Inputs(), Outputs(),
                           {{"beta1", 0.8f}, {"beta2", 0.75f}, {"epsilon", 0.5f}}, options);
    const double moments1[] = {0.5, 0, -1}, moments2[] = {0.25, 1, 2};
    const double rate = 0.1 * std::sqrt(1 - 0.998) / (1 - 0.81);
    for (size_t i = 0; i < 3; ++i) {
      const double m1 = beta1 * moments1[i] + (1 - beta1) * kGrads[i];
      const double m2 = beta2 * moments2[i] + (1 - beta2) * kGrads[i] * kGrads[i];
      EXPECT_DOUBLE_EQ(ValuesOf<double>(out.at("Moment1Out"))[i], m1);
      EXPECT_DOUBLE_EQ(ValuesOf<double>(out.at("Moment2Out"))[i], m2);
      EXPECT_DOUBLE_EQ(ValuesOf<double>(out.at("ParamOut"))[i],
                       kParams[i] - rate * m1 / (std::sqrt(m2) + epsilon));
    }
  }
}

TEST(AdamOp, HasTheDefaultsOfItsAuthors) {
  const auto out = RunOp("adam", Inputs(), Outputs());
  EXPECT_NEAR(ValuesOf<double>(out.at("Moment1Out"))[1], 0.1 * 4, 1e-6);
  EXPECT_NEAR(ValuesOf<double>(out.at("Moment2Out"))[1], 0.999 + 0.001 * 16, 1e-6);
}

TEST(AdamOp, TakesNoRows) {
  const LoDTensor none = MakeTensor<float>({0}, {}), half = MakeTensor<float>({1}, {0.5f});
  EXPECT_EQ(RunOp("adam",
                  {{"Param", none},
                   {"Grad", none},
                   {"LearningRate", half},
                   {"Moment1", none},
                   {"Moment2", none},
                   {"Beta1Pow", half},
                   {"Beta2Pow", half}},
                  Outputs())
                .at("ParamOut")
                .numel(),
            0);
}

TEST(AdamOp, RefusesWhatDoesNotFit) {
  const auto refused = [](const std::string& words, const std::string& slot,
                          const LoDTensor& tensor) {
    ExpectInputRefused(words, "adam", Inputs(), slot, tensor, Outputs());
  };
  const LoDTensor two = MakeTensor<double>({2}, {1, 2});
  refused("input 'Grad' (variable 'grad_variable') is float64 [2]; float64 [3] is needed", "Grad",
          two);
  refused("input 'LearningRate'", "LearningRate", two);
  refused("input 'Moment1' (variable 'moment1_variable') is float64 [2]; float64 [3] is needed",
          "Moment1", two);
  refused("input 'Moment2'", "Moment2", two);
  refused("input 'Beta1Pow' (variable 'beta1pow_variable') is float64 [2]; float64 [1] is needed",
          "Beta1Pow", two);
  refused("input 'Beta2Pow' (variable 'beta2pow_variable') is float32 [1]; float64 [1] is needed",
          "Beta2Pow", MakeTensor<float>({1}, {1}));
}

}  // namespace
}  // namespace millhopper
