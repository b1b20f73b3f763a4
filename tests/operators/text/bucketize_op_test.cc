// SPDX-License-Identifier: Apache-2.0
// bucketize.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

std::vector<int64_t> Bucketize(const LoDTensor& x, const std::vector<double>& boundaries) {
  const LoDTensor out =
      RunOp("bucketize", {{"X", x}}, {"Out"}, {{"boundaries", boundaries}}).at("Out");
  EXPECT_EQ(out.dims(), x.dims());
  EXPECT_EQ(out.lod(), x.lod());
  return ValuesOf<int64_t>(out);
}

TEST(BucketizeOp, CountsBoundariesThatAreAtMostTheNumber) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const std::vector<double> boundaries = {-1, 0, 0, 2.5};
  const LoDTensor x = MakeTensor<double>({2, 4}, {-kInf, -1, -0.0, 1, 2.5, kInf, -2, 2}, {{0, 2}});
  EXPECT_EQ(Bucketize(x, boundaries), (std::vector<int64_t>{0, 1, 3, 3, 4, 4, 0, 3}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Bucketize(MakeTensor<float>({2}, {nan, 2.5f}), boundaries),
            (std::vector<int64_t>{4, 4}));
  EXPECT_EQ(Bucketize(MakeTensor<uint8_t>({2}, {0, 255}), boundaries),
            (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(Bucketize(MakeTensor<int32_t>({1}, {7}), {}), (std::vector<int64_t>{0}));
}

TEST(BucketizeOp, ComparesLargeIntegersExactly) {
  const int64_t large = (int64_t{1} << 53) + 1;
  EXPECT_EQ(
      Bucketize(MakeTensor<int64_t>({3}, {large - 2, large - 1, large}), {0x1p53, 0x1p53 + 2}),
      (std::vector<int64_t>{0, 1, 1}));
}

TEST(BucketizeOp, WhatHasNoValueHasANumberOfItsOwn) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<double> boundaries = {0, 10};
  const SlotTensors inputs = {{"X", MakeTensor<float>({4}, {5, 0, nan, 11})},
                              {"Valid", MakeTensor<bool>({4}, {true, false, true, true})}};
  const auto bucketize = [&inputs](const Attributes& attributes) {
    return ValuesOf<int64_t>(RunOp("bucketize", inputs, {"Out"}, attributes).at("Out"));
  };
  EXPECT_EQ(bucketize({{"boundaries", boundaries}}), (std::vector<int64_t>{1, 2, 2, 2}));
  EXPECT_EQ(bucketize({{"boundaries", boundaries}, {"null", int64_t{3}}}),
            (std::vector<int64_t>{1, 3, 3, 2}));
}

TEST(BucketizeOp, RefusesWhatDoesNotFit) {
  const LoDTensor x = MakeTensor<float>({1}, {1});
  ExpectRefused("number 1, 1, is below the one before it, 2", "bucketize", {{"X", x}}, {"Out"},
                {{"boundaries", std::vector<double>{2, 1}}});
  ExpectRefused("number 0 is NaN", "bucketize", {{"X", x}}, {"Out"},
                {{"boundaries", std::vector<double>{std::numeric_limits<double>::quiet_NaN()}}});
  ExpectRefused("the types taken are", "bucketize", {{"X", MakeTensor<bool>({1}, {true})}}, {"Out"},
                {{"boundaries", std::vector<double>{1}}});
}

}  // namespace
}  // namespace millhopper
