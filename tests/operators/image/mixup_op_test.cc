// SPDX-License-Identifier: Apache-2.0
// mixup.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "tests/operators/image/image_checks.h"

namespace millhopper {
namespace {

std::map<std::string, LoDTensor> Mixup(int64_t step, float alpha) {
  return RunOp("mixup",
               {{"X", MakeTensor<float>({3, 2}, {1, 2, 10, 20, 100, 200})},
                {"Label", MakeTensor<int64_t>({3, 1}, {0, 1, 1})},
                {"Step", MakeTensor<int64_t>({1}, {step})}},
               {"Out", "LabelOut"}, {{"num_classes", int64_t{4}}, {"alpha", alpha}});
}

TEST(MixupOp, MixesWithTheElementBefore) {
  const auto out = Mixup(0, 1);
  const auto label = ValuesOf<float>(out.at("LabelOut"));
  const float own = label[0];
  EXPECT_GT(own, 0);
  EXPECT_LT(own, 1);
  const float other = 1 - own;
  const Floats mixed = {own * 1 + other * 100, own * 2 + other * 200,  own * 10 + other * 1,
                        own * 20 + other * 2,  own * 100 + other * 10, own * 200 + other * 20};
  const auto values = ValuesOf<float>(out.at("Out"));
  for (size_t k = 0; k < mixed.size(); ++k) EXPECT_NEAR(values[k], mixed[k], 1e-4);
  EXPECT_EQ(out.at("LabelOut").dims(), (Dims{3, 4}));
  const Floats expected = {own, other, 0, 0, other, own, 0, 0, 0, 1, 0, 0};
  for (size_t k = 0; k < expected.size(); ++k) EXPECT_NEAR(label[k], expected[k], 1e-6) << k;
}

// The moments of Beta(alpha, alpha): mean 1/2, variance 1 / (8 alpha + 4).
TEST(MixupOp, LambdaIsOfTheBetaDistribution) {
  for (const float alpha : {0.2f, 1.0f, 4.0f}) {
    constexpr int kSteps = 1500;
    double sum = 0;
    double squares = 0;
    for (int step = 0; step < kSteps; ++step) {
      const double own = ValuesOf<float>(Mixup(step, alpha).at("LabelOut"))[0];
      sum += own;
      squares += (own - 0.5) * (own - 0.5);
    }
    EXPECT_NEAR(sum / kSteps, 0.5, 0.04) << alpha;
    EXPECT_NEAR(squares / kSteps * (8 * alpha + 4), 1, 0.12) << alpha;
  }
  // So small an alpha leaves one of the two as it is.
  const float own = ValuesOf<float>(Mixup(1, 0.001f).at("LabelOut"))[0];
  EXPECT_NEAR(own * (1 - own), 0, 1e-3);
}

TEST(MixupOp, Refuses) {
  const LoDTensor x = MakeTensor<float>({2, 1}, {1, 2});
  ExpectRefused("label 1 is 5; with 'num_classes' 5", "mixup",
                {{"X", x}, {"Label", MakeTensor<int64_t>({2, 1}, {4, 5})}}, {"Out", "LabelOut"},
                {{"num_classes", int64_t{5}}});
  ExpectRefused("one label for each element", "mixup",
                {{"X", x}, {"Label", MakeTensor<int64_t>({3, 1}, {0, 0, 0})}}, {"Out", "LabelOut"},
                {{"num_classes", int64_t{5}}});
  ExpectRefused("'alpha' is 0", "mixup", {{"X", x}, {"Label", MakeTensor<int64_t>({2, 1}, {0, 0})}},
                {"Out", "LabelOut"}, {{"num_classes", int64_t{5}}, {"alpha", 0.0f}});
}

}  // namespace
}  // namespace millhopper
