// SPDX-License-Identifier: Apache-2.0
// momentum.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

const std::vector<double>& Params() {
  static const auto* values = new std::vector<double>{1, -2, 0.5};
  return *values;
}
const std::vector<double>& Grads() {
  static const auto* values = new std::vector<double>{0.25, 4, -8};
  return *values;
}

SlotTensors Inputs() {
  return {{"Param", MakeTensor({3}, Params())},
          {"Grad", MakeTensor({3}, Grads())},
          {"Velocity", MakeTensor<double>({3}, {1, 0, -1})},
          {"LearningRate", MakeTensor<double>({1}, {0.1})}};
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
        const double velocity = static_cast<double>(mu) * velocities[i] + Grads()[i];
        const double step = nesterov ? Grads()[i] + static_cast<double>(mu) * velocity : velocity;
        EXPECT_DOUBLE_EQ(ValuesOf<double>(out.at("VelocityOut"))[i], velocity);
        EXPECT_DOUBLE_EQ(ValuesOf<double>(out.at("ParamOut"))[i], Params()[i] - 0.1 * step);
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
  SlotTensors inputs = Inputs();
  inputs[2].second = MakeTensor<double>({2}, {1, 2});
  ExpectRefused(
      "input 'Velocity' (variable 'velocity_variable') is float64 [2]; float64 [3] is needed, "
      "as 'Param' is",
      "momentum", inputs, outputs, {{"mu", 0.9f}});
  inputs = Inputs();
  inputs[1].second = MakeTensor<float>({3}, {1, 2, 3});
  ExpectRefused("input 'Grad' (variable 'grad_variable') is float32 [3]; float64 [3] is needed",
                "momentum", inputs, outputs, {{"mu", 0.9f}});
  inputs = Inputs();
  inputs[3].second = MakeTensor<double>({3}, {1, 2, 3});
  ExpectRefused("input 'LearningRate'", "momentum", inputs, outputs, {{"mu", 0.9f}});
}

}  // namespace
}  // namespace millhopper
