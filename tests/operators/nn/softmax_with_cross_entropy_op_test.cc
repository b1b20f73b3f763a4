// SPDX-License-Identifier: Apache-2.0
// softmax_with_cross_entropy and its gradient.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

const std::vector<double>& Logits() {
  static const auto* values = new std::vector<double>{1, 2, 3, -1, 0, 0.5};
  return *values;
}

// softmax and -log(softmax), value by value.
void Reference(std::vector<double>* softmax, std::vector<double>* losses) {
  for (size_t row = 0; row < 6; row += 3) {
    double sum = 0;
    for (size_t k = row; k < row + 3; ++k) sum += std::exp(Logits()[k]);
    for (size_t k = row; k < row + 3; ++k) {
      softmax->push_back(std::exp(Logits()[k]) / sum);
      losses->push_back(-std::log(softmax->back()));
    }
  }
}

TEST(SoftmaxWithCrossEntropyOp, ComputesBoth) {
  std::vector<double> softmax, losses;
  Reference(&softmax, &losses);
  const SlotTensors inputs = {{"Logits", MakeTensor({2, 3}, Logits(), {{0, 1, 2}})},
                              {"Label", MakeTensor<int64_t>({2, 1}, {2, 0})}};
  for (const RunOpOptions& options : {RunOpOptions(), RunOpOptions{{{"Softmax", "Logits"}}, 0}}) {
    const auto out = RunOp("softmax_with_cross_entropy", inputs, {"Softmax", "Loss"}, {}, options);
    EXPECT_EQ(out.at("Softmax").dims(), (Dims{2, 3}));
    EXPECT_EQ(out.at("Loss").dims(), (Dims{2, 1}));
    EXPECT_EQ(out.at("Softmax").lod(), (Lod{{0, 1, 2}}));
    EXPECT_EQ(out.at("Loss").lod(), (Lod{{0, 1, 2}}));
    for (size_t i = 0; i < 6; ++i) {
      EXPECT_NEAR(ValuesOf<double>(out.at("Softmax"))[i], softmax[i], 1e-14);
    }
    EXPECT_NEAR(ValuesOf<double>(out.at("Loss"))[0], losses[2], 1e-14);
    EXPECT_NEAR(ValuesOf<double>(out.at("Loss"))[1], losses[3], 1e-14);
  }
}

TEST(SoftmaxWithCrossEntropyOp, WeighsAllClassesBySoftLabels) {
  std::vector<double> softmax, losses;
  Reference(&softmax, &losses);
  const std::vector<double> weights = {0.5, 0.25, 0.25, 1, 0, 1};
  const LoDTensor loss =
      RunOp("softmax_with_cross_entropy",
            {{"Logits", MakeTensor({2, 3}, Logits())}, {"Label", MakeTensor({2, 3}, weights)}},
            {"Softmax", "Loss"}, {{"soft_label", true}})
          .at("Loss");
  for (size_t row = 0; row < 2; ++row) {
    double expected = 0;
    for (size_t k = 3 * row; k < 3 * row + 3; ++k) expected += weights[k] * losses[k];
    EXPECT_NEAR(ValuesOf<double>(loss)[row], expected, 1e-14);
  }
}

TEST(SoftmaxWithCrossEntropyOp, KeepsItsDigitsAtLargeLogits) {
  const auto out = RunOp("softmax_with_cross_entropy",
                         {{"Logits", MakeTensor<float>({2, 2}, {1e6f, 1e6f, 0, 1e4f})},
                          {"Label", MakeTensor<int64_t>({2, 1}, {1, 0})}},
                         {"Softmax", "Loss"});
  EXPECT_FLOAT_EQ(ValuesOf<float>(out.at("Loss"))[0], 0.693147181f);
  EXPECT_FLOAT_EQ(ValuesOf<float>(out.at("Loss"))[1], 1e4f);
}

TEST(SoftmaxWithCrossEntropyOp, HasTheGradientOfDifferences) {
  const LoDTensor logits = MakeTensor({2, 3}, Logits(), {{0, 2}});
  const LoDTensor label = MakeTensor<int64_t>({2, 1}, {2, 0});
  const LoDTensor soft = MakeTensor<double>({2, 3}, {0.5, 0.25, 0.25, 1, 0, 1});
  const std::vector<std::string> outputs = {"Softmax", "Loss"};
  const auto check = [&](const LoDTensor& labels, const std::string& output,
                         const std::vector<std::string>& given, bool soft_label) {
    // Its gradient operator never sees Logits.
    const auto forward =
        RunOp("softmax_with_cross_entropy", {{"Logits", logits}, {"Label", labels}}, outputs,
              {{"soft_label", soft_label}});
    SlotTensors inputs = {{"Label", labels}};
    for (const std::string& slot : given) inputs.emplace_back(slot, forward.at(slot));
    const bool of_softmax = output == "Softmax";
    const LoDTensor dloss = MakeTensor<double>(
        {2, 1}, of_softmax ? std::vector<double>{0, 0} : std::vector<double>{0.75, -1.5});
    const std::vector<double> weights =
        of_softmax ? std::vector<double>{1, -2, 0.5, 0.25, 3, 1} : ValuesOf<double>(dloss);
    inputs.emplace_back("Loss@GRAD", dloss);
    if (of_softmax) inputs.emplace_back("Softmax@GRAD", MakeTensor({2, 3}, weights));
    const LoDTensor result = RunOp("softmax_with_cross_entropy_grad", inputs, {"Logits@GRAD"},
                                   {{"soft_label", soft_label}})
                                 .at("Logits@GRAD");
    EXPECT_EQ(result.dims(), logits.dims());
    EXPECT_EQ(result.lod(), logits.lod());
    const std::vector<double> expected = NumericGradient(
        [&](const LoDTensor& moved) {
          const LoDTensor out =
              RunOp("softmax_with_cross_entropy", {{"Logits", moved}, {"Label", labels}}, outputs,
                    {{"soft_label", soft_label}})
                  .at(output);
          double sum = 0;
          for (size_t i = 0; i < weights.size(); ++i) sum += ValuesOf<double>(out)[i] * weights[i];
          return sum;
        },
        logits);
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(ValuesOf<double>(result)[i], expected[i], 1e-8) << output << " value " << i;
    }
  };
  check(label, "Loss", {"Softmax"}, false);
  check(label, "Loss", {"Softmax", "Loss"}, false);
  check(soft, "Loss", {"Softmax"}, true);
  check(label, "Softmax", {"Softmax"}, false);
}

TEST(SoftmaxWithCrossEntropyOp, WritesTheGradientInThePlaceOfSoftmax) {
  const SlotTensors inputs = {{"Label", MakeTensor<int64_t>({1, 1}, {1})},
                              {"Softmax", MakeTensor<double>({1, 2}, {0.25, 0.75})},
                              {"Loss@GRAD", MakeTensor<double>({1, 1}, {2})}};
  const LoDTensor result = RunOp("softmax_with_cross_entropy_grad", inputs, {"Logits@GRAD"}, {},
                                 {{{"Logits@GRAD", "Softmax"}}, 0})
                               .at("Logits@GRAD");
  EXPECT_EQ(ValuesOf<double>(result), (std::vector<double>{0.5, -0.5}));
}

TEST(SoftmaxWithCrossEntropyOp, TakesNoRows) {
  const LoDTensor logits = MakeTensor<float>({0, 3}, {});
  const LoDTensor label = MakeTensor<int64_t>({0, 1}, {});
  const auto out = RunOp("softmax_with_cross_entropy", {{"Logits", logits}, {"Label", label}},
                         {"Softmax", "Loss"});
  EXPECT_EQ(out.at("Loss").dims(), (Dims{0, 1}));
  EXPECT_EQ(
      RunOp("softmax_with_cross_entropy_grad",
            {{"Label", label}, {"Softmax", logits}, {"Loss@GRAD", out.at("Loss")}}, {"Logits@GRAD"})
          .at("Logits@GRAD")
          .dims(),
      (Dims{0, 3}));
}

TEST(SoftmaxWithCrossEntropyOp, RefusesWhatDoesNotFit) {
  const LoDTensor logits = MakeTensor({2, 3}, Logits());
  const auto refused = [&](const std::string& words, const LoDTensor& label) {
    ExpectRefused(words, "softmax_with_cross_entropy", {{"Logits", logits}, {"Label", label}},
                  {"Softmax", "Loss"});
  };
  refused(
      "input 'Label' (variable 'label_variable') is int64 [3, 1]; int64 [2, 1] is needed, one "
      "class for each row of 'Logits'",
      MakeTensor<int64_t>({3, 1}, {0, 1, 2}));
  refused("is uint8 [2, 1]; int64 [2, 1] is needed", MakeTensor<uint8_t>({2, 1}, {0, 1}));
  refused("label 0 is 3 but the classes are 0 to 2", MakeTensor<int64_t>({2, 1}, {3, 1}));
  const LoDTensor label = MakeTensor<int64_t>({2, 1}, {0, 1});
  ExpectRefused("input 'Logits' (variable 'logits_variable') is int32 [2, 1]; the types taken are",
                "softmax_with_cross_entropy",
                {{"Logits", MakeTensor<int32_t>({2, 1}, {1, 1})}, {"Label", label}},
                {"Softmax", "Loss"});
  ExpectRefused(
      "input 'Loss@GRAD' (variable 'loss@grad_variable') is float64 [3]; one value for each "
      "row of 'Softmax' is needed, 2",
      "softmax_with_cross_entropy_grad",
      {{"Label", label}, {"Softmax", logits}, {"Loss@GRAD", MakeTensor<double>({3}, {1, 1, 1})}},
      {"Logits@GRAD"});
  ExpectRefused(
      "input 'Loss@GRAD' (variable 'loss@grad_variable') is float32 [2, 1]; float64 is "
      "needed, the type of 'Softmax'",
      "softmax_with_cross_entropy_grad",
      {{"Label", label}, {"Softmax", logits}, {"Loss@GRAD", MakeTensor<float>({2, 1}, {1, 1})}},
      {"Logits@GRAD"});
}

}  // namespace
}  // namespace millhopper
