// SPDX-License-Identifier: Apache-2.0
// standardize.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using List = std::vector<double>;

LoDTensor Standardize(const LoDTensor& x, const List& mean, const List& deviation) {
  return RunOp("standardize", {{"X", x}}, {"Out"}, {{"mean", mean}, {"std", deviation}}).at("Out");
}

TEST(StandardizeOp, TakesOneMeanOrOneForEachColumn) {
  const LoDTensor one = Standardize(MakeTensor<int64_t>({3}, {1, 2, 3}), {2}, {0.5});
  EXPECT_EQ(ValuesOf<float>(one), (std::vector<float>{-2, 0, 2}));
  const LoDTensor x = MakeTensor<float>({2, 2}, {1, 10, 3, 40}, {{0, 1, 2}});
  const LoDTensor two = Standardize(x, {2, 20}, {1, 10});
  EXPECT_EQ(two.dims(), (Dims{2, 2}));
  EXPECT_EQ(two.lod(), (Lod{{0, 1, 2}}));
  EXPECT_EQ(ValuesOf<float>(two), (std::vector<float>{-1, -1, 1, 2}));
  EXPECT_EQ(ValuesOf<float>(Standardize(x, {1}, {1})), (std::vector<float>{0, 9, 2, 39}));
}

// 2^60 and 2^60 + 256 are one float32, and differ by a standard deviation here.
TEST(StandardizeOp, ComputesInFloat64) {
  const int64_t large = int64_t{1} << 60;
  const LoDTensor out = Standardize(MakeTensor<int64_t>({2}, {large, large + 256}),
                                    {static_cast<double>(large)}, {256});
  EXPECT_EQ(ValuesOf<float>(out), (std::vector<float>{0, 1}));
}

TEST(StandardizeOp, TakesADeviationOf0For1) {
  const auto out = ValuesOf<float>(Standardize(MakeTensor<float>({2}, {5, NAN}), {5}, {0}));
  EXPECT_EQ(out[0], 0);
  EXPECT_TRUE(std::isnan(out[1]));
}

TEST(StandardizeOp, NoTimeStaysNone) {
  const LoDTensor times = MakeTensor<int64_t>({2}, {std::numeric_limits<int64_t>::min(), 6});
  const auto out = ValuesOf<float>(Standardize(times, {5}, {1}));
  EXPECT_TRUE(std::isnan(out[0]));
  EXPECT_EQ(out[1], 1);
}

TEST(StandardizeOp, WhatHasNoValueHasNone) {
  const LoDTensor x = MakeTensor<int32_t>({3, 2}, {0, 0, 1, 2, 0, 0});
  const LoDTensor valid = MakeTensor<bool>({3}, {false, true, true});
  const auto out = ValuesOf<float>(RunOp("standardize", {{"X", x}, {"Valid", valid}}, {"Out"},
                                         {{"mean", List{1}}, {"std", List{1}}})
                                       .at("Out"));
  EXPECT_TRUE(std::isnan(out[0]) && std::isnan(out[1]));
  EXPECT_EQ(std::vector<float>(out.begin() + 2, out.end()), (std::vector<float>{0, 1, -1, -1}));
  ExpectRefused("bool [3] is needed, one for each row", "standardize",
                {{"X", x}, {"Valid", MakeTensor<bool>({2}, {true, true})}}, {"Out"},
                {{"mean", List{1}}, {"std", List{1}}});
  ExpectRefused("bool [3] is needed", "standardize",
                {{"X", x}, {"Valid", MakeTensor<uint8_t>({3}, {1, 1, 1})}}, {"Out"},
                {{"mean", List{1}}, {"std", List{1}}});
}

TEST(StandardizeOp, RefusesWhatDoesNotFit) {
  const auto refused = [](const std::string& words, const LoDTensor& x, const List& mean,
                          const List& deviation) {
    ExpectRefused(words, "standardize", {{"X", x}}, {"Out"}, {{"mean", mean}, {"std", deviation}});
  };
  const LoDTensor x = MakeTensor<float>({2}, {1, 2});
  refused("'mean' has 2 values, one for each value of a row", x, {1, 2}, {1, 2});
  refused("have 1 and 2 values", x, {1}, {1, 2});
  refused("it must not be below 0", x, {1}, {-1});
  refused("the types taken are", MakeTensor<bool>({1}, {true}), {1}, {1});
}

}  // namespace
}  // namespace millhopper
