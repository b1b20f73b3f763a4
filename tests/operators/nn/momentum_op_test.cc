// SPDX-License-Identifier: Apache-2.0
// momentum.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/operators/nn/optimizer_checks.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

SlotTensors Inputs() {
  return OptimizerInputs({{"Velocity", MakeTensor<double>({3}, {1, 0, -1})}});
}

TEST(MomentumOp, KeepsPartOfTheVelocity) {
  const float mu = 0.9f;
  for (const bool nesterov : {false, true}) {
    for (const bool in_place : {false, true}) {
      const RunOpOptions options =
          in_place ? RunOpOptions{{{"ParamOut", "Param"}, {"VelocityOut", "Velocity"}}, 0}
                   : RunOpOptions();
      const auto out = RunOp("momentum", Inputs(), {"ParamOut", "VelocityOut"},
                             {{"mu", mu}, {"use_nesterov", nesterov}}, options);
      const double velocities[] = {1, 0, -1};
      for (size_t i = 0; i < 3; ++i) {
        const double velocity = static_cast<double>(mu) * velocities[i] + kGrads[i];
        const double step = nesterov ? kGrads[i] + static_cast<double>(mu) * velocity : velocity;
        EXPECT_DOUBLE_EQ(ValuesOf<double>(out.at("VelocityOut"))[i], velocity);
        EXPECT_DOUBLE_EQ(ValuesOf<double>(out.at("ParamOut"))[i], kParams[i] - 0.1 * step);
      }
    }
  }
}

TEST(MomentumOp, StepsFloatsAndTakesNoRows) {
  const LoDTensor one = MakeTensor<float>({1}, {1});
  const auto out =
      RunOp("momentum", {{"Param", one}, {"Grad", one}, {"Velocity", one}, {"LearningRate", one}},
            {"ParamOut", "VelocityOut"}, {{"mu", 0.5f}});
  EXPECT_EQ(ValuesOf<float>(out.at("ParamOut")), (std::vector<float>{-0.5f}));
  EXPECT_EQ(ValuesOf<float>(out.at("VelocityOut")), (std::vector<float>{1.5f}));
  const LoDTensor none = MakeTensor<float>({0, 2}, {});
  EXPECT_EQ(RunOp("momentum",
                  {{"Param", none}, {"Grad", none}, {"Velocity", none}, {"LearningRate", one}},
                  {"ParamOut", "VelocityOut"}, {{"mu", 0.5f}})
                .at("VelocityOut")
                .dims(),
            (Dims{0, 2}));
}

TEST(MomentumOp, RefusesWhatDoesNotFit) {
  const std::vector<std::string> outputs = {"ParamOut", "VelocityOut"};
  ExpectRefused("mu", "momentum", Inputs(), outputs);
  const auto refused = [&outputs](const std::string& words, const std::string& slot,
                                  const LoDTensor& tensor) {
    ExpectInputRefused(words, "momentum", Inputs(), slot, tensor, outputs, {{"mu", 0.9f}});
  };
  refused(
      "input 'Velocity' (variable 'velocity_variable') is float64 [2]; float64 [3] is needed, "
      "as 'Param' is",
      "Velocity", MakeTensor<double>({2}, {1, 2}));
  refused("input 'Grad' (variable 'grad_variable') is float32 [3]; float64 [3] is needed", "Grad",
          MakeTensor<float>({3}, {1, 2, 3}));
  refused("input 'LearningRate'", "LearningRate", MakeTensor<double>({3}, {1, 2, 3}));
}

}  // namespace
}  // namespace millhopper
