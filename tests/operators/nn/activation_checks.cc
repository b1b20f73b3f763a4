// SPDX-License-Identifier: Apache-2.0
#include "tests/operators/nn/activation_checks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {

void CheckActivation(const std::string& type, double (*function)(double)) {
  const std::vector<double> values = {-3.5, -0.25, 0.0, 0.5, 2.0, 40.0};
  const LoDTensor x = MakeTensor({3, 2}, values, {{0, 1, 3}});
  const LoDTensor x32 =
      MakeTensor<float>({3, 2}, std::vector<float>(values.begin(), values.end()), {{0, 3}});
  for (const RunOpOptions& options : {RunOpOptions(), RunOpOptions{{{"Out", "X"}}, 0}}) {
    const LoDTensor out = RunOp(type, {{"X", x}}, {"Out"}, {}, options).at("Out");
    const LoDTensor out32 = RunOp(type, {{"X", x32}}, {"Out"}, {}, options).at("Out");
    EXPECT_EQ(out.dims(), x.dims());
    EXPECT_EQ(out.lod(), x.lod());
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_NEAR(ValuesOf<double>(out)[i], function(values[i]), 1e-14);
      EXPECT_NEAR(ValuesOf<float>(out32)[i], function(values[i]), 1e-6);
    }
  }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const LoDTensor out = RunOp(type, {{"X", MakeTensor<double>({1}, {nan})}}, {"Out"}).at("Out");
  EXPECT_TRUE(std::isnan(ValuesOf<double>(out)[0]));
  const LoDTensor none = MakeTensor<float>({0, 2}, {});
  EXPECT_EQ(RunOp(type, {{"X", none}}, {"Out"}).at("Out").dims(), (Dims{0, 2}));
  ExpectRefused(
      "input 'X' (variable 'x_variable') is int64 [1]; the types taken are float32, float64", type,
      {{"X", MakeTensor<int64_t>({1}, {1})}}, {"Out"});

  const LoDTensor smooth = MakeTensor<double>({2, 3}, {-2, -0.5, -0.01, 0.01, 0.75, 3}, {{0, 2}});
  const std::string gradient = type + "_grad";
  ExpectGradients({type, {{"X", smooth}}, {"Out"}, "Out", {"Out"}, {"X"}, {}});
  ExpectGradients({type, {{"X", smooth}}, {"Out"}, "Out", {"X", "Out"}, {"X"}, {}});
  const LoDTensor expected =
      RunOp(gradient, {{"Out", smooth}, {"Out@GRAD", smooth}}, {"X@GRAD"}).at("X@GRAD");
  const LoDTensor in_place = RunOp(gradient, {{"Out", smooth}, {"Out@GRAD", smooth}}, {"X@GRAD"},
                                   {}, {{{"X@GRAD", "Out@GRAD"}}, 0})
                                 .at("X@GRAD");
  EXPECT_EQ(ValuesOf<double>(in_place), ValuesOf<double>(expected));
  ExpectRefused(
      "input 'Out@GRAD' (variable 'out@grad_variable') is float64 [3, 2]; float64 [2, 3] "
      "is needed, as 'Out' is",
      gradient, {{"Out", smooth}, {"Out@GRAD", x}}, {"X@GRAD"});
}

}  // namespace millhopper
