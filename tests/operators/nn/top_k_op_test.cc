// SPDX-License-Identifier: Apache-2.0
// top_k.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

TEST(TopKOp, FindsTheHighestOfEachRow) {
  const LoDTensor x = MakeTensor<float>({2, 4}, {1, 7, 3, 5, -1, -4, -2, -3}, {{0, 1, 2}});
  const auto out = RunOp("top_k", {{"X", x}}, {"Out", "Indices"}, {{"k", 3}});
  EXPECT_EQ(ValuesOf<float>(out.at("Out")), (std::vector<float>{7, 5, 3, -1, -2, -3}));
  EXPECT_EQ(ValuesOf<int64_t>(out.at("Indices")), (std::vector<int64_t>{1, 3, 2, 0, 2, 3}));
  for (const char* slot : {"Out", "Indices"}) {
    EXPECT_EQ(out.at(slot).dims(), (Dims{2, 3}));
    EXPECT_EQ(out.at(slot).lod(), x.lod());
  }
}

TEST(TopKOp, TakesTheFirstOfEqualsAndOneByDefault) {
  const LoDTensor x = MakeTensor<double>({1, 2, 3}, {2, 5, 5, 1, 1, 1});
  const auto out = RunOp("top_k", {{"X", x}}, {"Out", "Indices"});
  EXPECT_EQ(out.at("Out").dims(), (Dims{1, 2, 1}));
  EXPECT_EQ(ValuesOf<double>(out.at("Out")), (std::vector<double>{5, 1}));
  EXPECT_EQ(ValuesOf<int64_t>(out.at("Indices")), (std::vector<int64_t>{1, 0}));
}

TEST(TopKOp, PutsNaNFirst) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const LoDTensor x = MakeTensor<float>({5}, {1, nan, 3, nan, 2});
  EXPECT_EQ(
      ValuesOf<int64_t>(RunOp("top_k", {{"X", x}}, {"Out", "Indices"}, {{"k", 5}}).at("Indices")),
      (std::vector<int64_t>{1, 3, 2, 4, 0}));
}

TEST(TopKOp, MayTakeThePlaceOfX) {
  const LoDTensor x = MakeTensor<float>({2, 2}, {1, 2, 4, 3});
  const auto out = RunOp("top_k", {{"X", x}}, {"Out", "Indices"}, {}, {{{"Out", "X"}}, 0});
  EXPECT_EQ(ValuesOf<float>(out.at("Out")), (std::vector<float>{2, 4}));
}

TEST(TopKOp, TakesNoRows) {
  const auto out = RunOp("top_k", {{"X", MakeTensor<float>({0, 4}, {})}}, {"Out", "Indices"});
  EXPECT_EQ(out.at("Indices").dims(), (Dims{0, 1}));
}

TEST(TopKOp, TakesNoMemoryForRowsThatAreNotThere) {
  const LoDTensor x = MakeTensor<float>({0, int64_t{1} << 39}, {});
  const auto out = RunOp("top_k", {{"X", x}}, {"Out", "Indices"});
  EXPECT_EQ(out.at("Indices").dims(), (Dims{0, 1}));
}

TEST(TopKOp, RefusesWhatDoesNotFit) {
  const LoDTensor x = MakeTensor<float>({2, 2}, {1, 2, 4, 3});
  ExpectRefused(
      "input 'X' (variable 'x_variable') is float32 [2, 2]; rows of at least k = 3 values "
      "are needed",
      "top_k", {{"X", x}}, {"Out", "Indices"}, {{"k", 3}});
  ExpectRefused("attribute 'k' is 0; it must be at least 1", "top_k", {{"X", x}},
                {"Out", "Indices"}, {{"k", 0}});
  ExpectRefused("is int64 [1]; the types taken are float32, float64", "top_k",
                {{"X", MakeTensor<int64_t>({1}, {1})}}, {"Out", "Indices"});
}

}  // namespace
}  // namespace millhopper
