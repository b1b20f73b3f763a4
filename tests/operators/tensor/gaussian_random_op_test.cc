// SPDX-License-Identifier: Apache-2.0
// gaussian_random.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/operators/tensor/random_checks.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

TEST(GaussianRandomOp, DrawsByItsSeedsAndName) {
  CheckRandomOp(
      "gaussian_random",
      {
          {0,
           0,
           {0.0061612645557879622, 0.295881361043144, 0.90185864387945991, 0.5105141530182612}},
          {1,
           0,
           {-0.4444721456961705, 1.6200923524257844, 0.092488783166694788, -0.75862792038687377}},
          {0,
           7,
           {0.31069134839214441, 2.7444681481636439, 0.32364372792329771, 0.26754389440941745}},
          {uint64_t{1} << 40,
           -3,
           {0.48250616767929821, 0.29507065450955194, -0.22376311447829256, -0.37969109425974079}},
      });
}

TEST(GaussianRandomOp, HasItsMeanAndDeviation) {
  const std::vector<double> values = ValuesOf<double>(
      Draw("gaussian_random", {100001}, DataType::kFp64, 1, {{"mean", 3.0f}, {"std", 2.0f}}));
  double sum = 0, squares = 0, neighbours = 0;
  size_t beyond = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double value = (values[i] - 3) / 2;
    sum += value;
    squares += value * value;
    if (i > 0) neighbours += value * (values[i - 1] - 3) / 2;
    if (std::abs(value) > 2) ++beyond;
  }
  const auto count = static_cast<double>(values.size());
  EXPECT_NEAR(sum / count, 0, 0.01);
  EXPECT_NEAR(squares / count, 1, 0.02);
  EXPECT_NEAR(neighbours / count, 0, 0.01);
  EXPECT_NEAR(static_cast<double>(beyond) / count, 0.0455, 0.003);
}

TEST(GaussianRandomOp, IsItsMeanWithoutDeviation) {
  EXPECT_EQ(ValuesOf<float>(
                Draw("gaussian_random", {2}, DataType::kFp32, 1, {{"mean", 0.5f}, {"std", 0.0f}})),
            (std::vector<float>{0.5f, 0.5f}));
}

TEST(GaussianRandomOp, RefusesANegativeDeviation) {
  ExpectRefused("attribute 'std' is -1; it must be at least 0", "gaussian_random", {}, {"Out"},
                {{"shape", std::vector<int32_t>{1}}, {"std", -1.0f}});
}

}  // namespace
}  // namespace millhopper
