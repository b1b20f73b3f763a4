// SPDX-License-Identifier: Apache-2.0
// uniform_random.
#include <gtest/gtest.h>

#include <vector>

#include "tests/operators/tensor/random_checks.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

TEST(UniformRandomOp, DrawsByItsSeedsAndName) {
  CheckRandomOp(
      "uniform_random",
      {
          {0,
           0,
           {-0.91430629710563727, -0.50662734556459998, -0.16901360850639136,
            -0.83603971154456547}},
          {1,
           0,
           {0.51226359794159548, -0.41476880344273126, -0.49348442823012784, 0.53861645433553007}},
          {0,
           7,
           {0.95589446898556596, -0.53588195146903916, -0.8312241571186445, -0.78011534565464813}},
          {uint64_t{1} << 40,
           -3,
           {-0.70439078163384172, -0.82529248304016023, -0.81489851459413298, 0.33048836626822187}},
      });
}

TEST(UniformRandomOp, FillsTheRangeEvenly) {
  const std::vector<float> values = ValuesOf<float>(
      Draw("uniform_random", {100000}, DataType::kFp32, 1, {{"min", 2.0f}, {"max", 4.0f}}));
  double sum = 0;
  size_t low = 0;
  for (const float value : values) {
    ASSERT_GE(value, 2.0f);
    ASSERT_LE(value, 4.0f);
    sum += value;
    if (value < 2.5f) ++low;
  }
  EXPECT_NEAR(sum / 100000, 3.0, 0.01);
  EXPECT_NEAR(static_cast<double>(low) / 100000, 0.25, 0.01);
}

TEST(UniformRandomOp, TakesARangeOfOneValue) {
  EXPECT_EQ(ValuesOf<float>(
                Draw("uniform_random", {2}, DataType::kFp32, 1, {{"min", 0.5f}, {"max", 0.5f}})),
            (std::vector<float>{0.5f, 0.5f}));
}

TEST(UniformRandomOp, RefusesAnEmptyRange) {
  ExpectRefused("attribute 'max' is 1, below 'min', which is 2", "uniform_random", {}, {"Out"},
                {{"shape", std::vector<int32_t>{1}}, {"min", 2.0f}});
}

}  // namespace
}  // namespace millhopper
