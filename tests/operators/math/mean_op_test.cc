// SPDX-License-Identifier: Apache-2.0
// mean and mean_grad.
#include <gtest/gtest.h>

#include <vector>

#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

TEST(MeanOp, AveragesAllValues) {
  const LoDTensor x = MakeTensor<double>({2, 3}, {1, 2, 3, 4, 5, 9}, {{0, 2}});
  const LoDTensor out = RunOp("mean", {{"X", x}}, {"Out"}).at("Out");
  EXPECT_EQ(out.dims(), (Dims{1}));
  EXPECT_TRUE(out.lod().empty());
  EXPECT_EQ(ValuesOf<double>(out), (std::vector<double>{4}));
}

TEST(MeanOp, KeepsTheDigitsOfManyFloats) {
  const LoDTensor x = MakeTensor<float>({1000000}, std::vector<float>(1000000, 0.1f));
  EXPECT_FLOAT_EQ(
      ValuesOf<float>(RunOp("mean", {{"X", x}}, {"Out"}, {}, {{{"Out", "X"}}, 0}).at("Out"))[0],
      0.1f);
}

TEST(MeanOp, HasTheGradientOfDifferences) {
  const LoDTensor x = MakeTensor<double>({2, 2}, {1, 2, 3, 5}, {{0, 1, 2}});
  ExpectGradients({"mean", {{"X", x}}, {"Out"}, "Out", {"X"}, {"X"}, {}});
}

TEST(MeanOp, HasAnEmptyGradientOfNoRows) {
  const LoDTensor x = MakeTensor<float>({0, 2}, {});
  EXPECT_EQ(RunOp("mean_grad", {{"X", x}, {"Out@GRAD", MakeTensor<float>({1}, {1})}}, {"X@GRAD"})
                .at("X@GRAD")
                .dims(),
            (Dims{0, 2}));
}

TEST(MeanOp, RefusesWhatDoesNotFit) {
  ExpectRefused("input 'X' (variable 'x_variable') is float32 [0, 2]; at least one value is needed",
                "mean", {{"X", MakeTensor<float>({0, 2}, {})}}, {"Out"});
  ExpectRefused(
      "input 'X' (variable 'x_variable') is int64 [1]; the types taken are float32, float64",
      "mean", {{"X", MakeTensor<int64_t>({1}, {1})}}, {"Out"});
  const LoDTensor x = MakeTensor<float>({2}, {1, 2});
  ExpectRefused(
      "input 'Out@GRAD' (variable 'out@grad_variable') is float32 [2]; dims [1] are needed",
      "mean_grad", {{"X", x}, {"Out@GRAD", x}}, {"X@GRAD"});
  ExpectRefused("is float64 [1]; float32 is needed, the type of 'X'", "mean_grad",
                {{"X", x}, {"Out@GRAD", MakeTensor<double>({1}, {1})}}, {"X@GRAD"});
}

}  // namespace
}  // namespace millhopper
