// SPDX-License-Identifier: Apache-2.0
// cross_entropy and cross_entropy_grad.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

const std::vector<double>& Probabilities() {
  static const auto* values = new std::vector<double>{0.1, 0.2, 0.7, 0.5, 0.25, 0.25};
  return *values;
}

TEST(CrossEntropyOp, TakesTheLogarithmOfTheLabelsProbability) {
  const LoDTensor x = MakeTensor({2, 3}, Probabilities(), {{0, 1, 2}});
  const LoDTensor label = MakeTensor<int64_t>({2, 1}, {2, 0});
  const LoDTensor y = RunOp("cross_entropy", {{"X", x}, {"Label", label}}, {"Y"}).at("Y");
  EXPECT_EQ(y.dims(), (Dims{2, 1}));
  EXPECT_EQ(y.lod(), x.lod());
  EXPECT_DOUBLE_EQ(ValuesOf<double>(y)[0], -std::log(0.7));
  EXPECT_DOUBLE_EQ(ValuesOf<double>(y)[1], -std::log(0.5));
}

TEST(CrossEntropyOp, WeighsAllClassesBySoftLabels) {
  const LoDTensor x = MakeTensor({1, 2, 3}, Probabilities());
  const LoDTensor label = MakeTensor<double>({1, 2, 3}, {0.5, 0.5, 0, 0, 1, 1});
  const LoDTensor y =
      RunOp("cross_entropy", {{"X", x}, {"Label", label}}, {"Y"}, {{"soft_label", true}}).at("Y");
  EXPECT_EQ(y.dims(), (Dims{1, 2, 1}));
  EXPECT_DOUBLE_EQ(ValuesOf<double>(y)[0], -0.5 * std::log(0.1) - 0.5 * std::log(0.2));
  EXPECT_DOUBLE_EQ(ValuesOf<double>(y)[1], -2 * std::log(0.25));
}

TEST(CrossEntropyOp, StaysFiniteAtProbabilityZero) {
  const LoDTensor x = MakeTensor<float>({1, 2}, {0, 1});
  const LoDTensor label = MakeTensor<int64_t>({1, 1}, {0});
  EXPECT_EQ(ValuesOf<float>(RunOp("cross_entropy", {{"X", x}, {"Label", label}}, {"Y"}).at("Y"))[0],
            1e20f);
}

TEST(CrossEntropyOp, HasTheGradientOfDifferences) {
  const LoDTensor x = MakeTensor({2, 3}, Probabilities(), {{0, 2}});
  ExpectGradients({"cross_entropy",
                   {{"X", x}, {"Label", MakeTensor<int64_t>({2, 1}, {2, 0})}},
                   {"Y"},
                   "Y",
                   {"X", "Label"},
                   {"X"},
                   {}});
  ExpectGradients({"cross_entropy",
                   {{"X", x}, {"Label", MakeTensor<double>({2, 3}, {0.2, 0.3, 0.5, 1, 0, 2})}},
                   {"Y"},
                   "Y",
                   {"X", "Label"},
                   {"X"},
                   {{"soft_label", true}}});
}

TEST(CrossEntropyOp, WritesTheGradientInThePlaceOfX) {
  const SlotTensors inputs = {{"X", MakeTensor({2, 3}, Probabilities())},
                              {"Label", MakeTensor<int64_t>({2, 1}, {2, 0})},
                              {"Y@GRAD", MakeTensor<double>({2, 1}, {1, 2})}};
  const LoDTensor dx =
      RunOp("cross_entropy_grad", inputs, {"X@GRAD"}, {}, {{{"X@GRAD", "X"}}, 0}).at("X@GRAD");
  EXPECT_EQ(ValuesOf<double>(dx), (std::vector<double>{0, 0, -1 / 0.7, -4, 0, 0}));
}

TEST(CrossEntropyOp, TakesNoRows) {
  const LoDTensor x = MakeTensor<float>({0, 3}, {});
  const LoDTensor label = MakeTensor<int64_t>({0, 1}, {});
  const LoDTensor y = RunOp("cross_entropy", {{"X", x}, {"Label", label}}, {"Y"}).at("Y");
  EXPECT_EQ(y.dims(), (Dims{0, 1}));
  EXPECT_EQ(RunOp("cross_entropy_grad", {{"X", x}, {"Label", label}, {"Y@GRAD", y}}, {"X@GRAD"})
                .at("X@GRAD")
                .dims(),
            (Dims{0, 3}));
}

TEST(CrossEntropyOp, RefusesWhatDoesNotFit) {
  const LoDTensor x = MakeTensor({2, 3}, Probabilities());
  const auto refused = [&](const std::string& words, const LoDTensor& label) {
    ExpectRefused(words, "cross_entropy", {{"X", x}, {"Label", label}}, {"Y"});
  };
  refused(
      "input 'Label' (variable 'label_variable') is int64 [2]; int64 [2, 1] is needed, one class "
      "for each row of 'X'",
      MakeTensor<int64_t>({2}, {0, 1}));
  refused("is int32 [2, 1]; int64 [2, 1] is needed", MakeTensor<int32_t>({2, 1}, {0, 1}));
  refused("label 1 is 3 but the classes are 0 to 2", MakeTensor<int64_t>({2, 1}, {0, 3}));
  refused("label 0 is -1 but the classes are 0 to 2", MakeTensor<int64_t>({2, 1}, {-1, 0}));
  ExpectRefused("is float64 [2, 1]; float64 [2, 3] is needed, as 'X' is", "cross_entropy",
                {{"X", x}, {"Label", MakeTensor<double>({2, 1}, {0, 1})}}, {"Y"},
                {{"soft_label", true}});
  ExpectRefused(
      "input 'Y@GRAD' (variable 'y@grad_variable') is float64 [1, 1]; one value for each "
      "row of 'X' is needed, 2",
      "cross_entropy_grad",
      {{"X", x},
       {"Label", MakeTensor<int64_t>({2, 1}, {0, 1})},
       {"Y@GRAD", MakeTensor<double>({1, 1}, {1})}},
      {"X@GRAD"});
}

}  // namespace
}  // namespace millhopper
