// SPDX-License-Identifier: Apache-2.0
// softmax and softmax_grad.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

TEST(SoftmaxOp, ScalesEachRowToOne) {
  const std::vector<double> x = {1, 2, 3, -1, 0, 1, 5, 5, 5, 0, -700, 700};
  const LoDTensor input = MakeTensor({2, 2, 3}, x, {{0, 2}});
  const LoDTensor out = RunOp("softmax", {{"X", input}}, {"Out"}).at("Out");
  EXPECT_EQ(out.dims(), input.dims());
  EXPECT_EQ(out.lod(), input.lod());
  for (size_t row = 0; row < x.size(); row += 3) {
    const double sum = std::exp(x[row]) + std::exp(x[row + 1]) + std::exp(x[row + 2]);
    for (size_t k = row; k < row + 3; ++k) {
      EXPECT_NEAR(ValuesOf<double>(out)[k], std::exp(x[k]) / sum, 1e-14);
    }
  }
}

TEST(SoftmaxOp, TakesLargeValues) {
  const LoDTensor x = MakeTensor<float>({1, 2}, {1000, 1000});
  EXPECT_EQ(
      ValuesOf<float>(RunOp("softmax", {{"X", x}}, {"Out"}, {}, {{{"Out", "X"}}, 0}).at("Out")),
      (std::vector<float>{0.5f, 0.5f}));
}

TEST(SoftmaxOp, HasTheGradientOfDifferences) {
  const LoDTensor x = MakeTensor<double>({2, 3}, {0.5, -1, 2, 0.25, 0.5, 0.75}, {{0, 1, 2}});
  ExpectGradients({"softmax", {{"X", x}}, {"Out"}, "Out", {"Out"}, {"X"}, {}});
  ExpectGradients({"softmax", {{"X", x}}, {"Out"}, "Out", {"X", "Out"}, {"X"}, {}});
  const LoDTensor expected =
      RunOp("softmax_grad", {{"Out", x}, {"Out@GRAD", x}}, {"X@GRAD"}).at("X@GRAD");
  for (const char* slot : {"Out", "Out@GRAD"}) {
    const LoDTensor in_place = RunOp("softmax_grad", {{"Out", x}, {"Out@GRAD", x}}, {"X@GRAD"}, {},
                                     {{{"X@GRAD", slot}}, 0})
                                   .at("X@GRAD");
    EXPECT_EQ(ValuesOf<double>(in_place), ValuesOf<double>(expected));
  }
}

TEST(SoftmaxOp, TakesNoRows) {
  const LoDTensor none = MakeTensor<float>({0, 3}, {});
  EXPECT_EQ(RunOp("softmax", {{"X", none}}, {"Out"}).at("Out").dims(), (Dims{0, 3}));
  EXPECT_EQ(
      RunOp("softmax_grad", {{"Out", none}, {"Out@GRAD", none}}, {"X@GRAD"}).at("X@GRAD").dims(),
      (Dims{0, 3}));
}

TEST(SoftmaxOp, RefusesWhatDoesNotFit) {
  ExpectRefused(
      "input 'X' (variable 'x_variable') is float32 [3, 0]; a last axis of at least 1 value "
      "is needed",
      "softmax", {{"X", MakeTensor<float>({3, 0}, {})}}, {"Out"});
  ExpectRefused("is int32 [1]; the types taken are float32, float64", "softmax",
                {{"X", MakeTensor<int32_t>({1}, {1})}}, {"Out"});
  const LoDTensor x = MakeTensor<float>({1, 2}, {1, 2});
  ExpectRefused(
      "input 'Out@GRAD' (variable 'out@grad_variable') is float32 [2]; float32 [1, 2] is "
      "needed, as 'Out' is",
      "softmax_grad", {{"Out", x}, {"Out@GRAD", MakeTensor<float>({2}, {1, 2})}}, {"X@GRAD"});
}

}  // namespace
}  // namespace millhopper
