// SPDX-License-Identifier: Apache-2.0
// mul and mul_grad.
#include <gtest/gtest.h>

#include <vector>

#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

// The product of two matrices, computed value by value.
std::vector<double> Product2d(const std::vector<double>& x, const std::vector<double>& y,
                              int64_t rows, int64_t inner, int64_t columns) {
  std::vector<double> out;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      double sum = 0;
      for (int64_t k = 0; k < inner; ++k) sum += x[r * inner + k] * y[k * columns + c];
      out.push_back(sum);
    }
  }
  return out;
}

std::vector<double> SomeValues(int64_t count) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<double>(i * 7 % 13) / 4 - 1.5);
  return values;
}

TEST(MulOp, MultipliesMatrices) {
  // Small and large matrices, which the library multiplies in different ways.
  for (const int64_t rows : {1, 3, 70}) {
    for (const int64_t inner : {1, 5, 300}) {
      for (const int64_t columns : {1, 4, 65}) {
        const std::vector<double> x = SomeValues(rows * inner), y = SomeValues(inner * columns);
        const std::vector<double> expected = Product2d(x, y, rows, inner, columns);
        const LoDTensor out =
            RunOp("mul",
                  {{"X", MakeTensor({rows, inner}, x)}, {"Y", MakeTensor({inner, columns}, y)}},
                  {"Out"})
                .at("Out");
        EXPECT_EQ(out.dims(), (Dims{rows, columns}));
        const std::vector<double> values = ValuesOf<double>(out);
        for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-10);
      }
    }
  }
}

TEST(MulOp, MultipliesFloats) {
  const LoDTensor x = MakeTensor<float>({1, 2}, {2, 3});
  const LoDTensor y = MakeTensor<float>({2, 2}, {1, 10, 100, 1000});
  EXPECT_EQ(ValuesOf<float>(RunOp("mul", {{"X", x}, {"Y", y}}, {"Out"}).at("Out")),
            (std::vector<float>{302, 3020}));
}

TEST(MulOp, FlattensToMatricesAndKeepsLod) {
  const LoDTensor x = MakeTensor({2, 3, 4, 1}, SomeValues(24), {{0, 1, 2}});
  const LoDTensor y = MakeTensor({2, 2, 5}, SomeValues(20));
  const LoDTensor out =
      RunOp("mul", {{"X", x}, {"Y", y}}, {"Out"}, {{"x_num_col_dims", 2}, {"y_num_col_dims", 2}})
          .at("Out");
  EXPECT_EQ(out.dims(), (Dims{2, 3, 5}));
  EXPECT_EQ(out.lod(), x.lod());
  EXPECT_EQ(ValuesOf<double>(out), Product2d(SomeValues(24), SomeValues(20), 6, 4, 5));
}

TEST(MulOp, TakesNoRowsAndNoColumns) {
  const LoDTensor y = MakeTensor({3, 2}, SomeValues(6));
  const LoDTensor no_rows = MakeTensor<double>({0, 3}, {});
  EXPECT_EQ(RunOp("mul", {{"X", no_rows}, {"Y", y}}, {"Out"}).at("Out").dims(), (Dims{0, 2}));
  const LoDTensor no_columns = MakeTensor<double>({2, 0}, {});
  const LoDTensor no_values = MakeTensor<double>({0, 2}, {});
  EXPECT_EQ(
      ValuesOf<double>(RunOp("mul", {{"X", no_columns}, {"Y", no_values}}, {"Out"}).at("Out")),
      (std::vector<double>{0, 0, 0, 0}));
  const auto gradients =
      RunOp("mul_grad", {{"X", no_rows}, {"Y", y}, {"Out@GRAD", no_values}}, {"X@GRAD", "Y@GRAD"});
  EXPECT_EQ(gradients.at("X@GRAD").dims(), (Dims{0, 3}));
  EXPECT_EQ(ValuesOf<double>(gradients.at("Y@GRAD")), std::vector<double>(6, 0));
}

TEST(MulOp, MayTakeThePlaceOfAnInput) {
  const LoDTensor x = MakeTensor<float>({2, 2}, {1, 2, 3, 4});
  const LoDTensor y = MakeTensor<float>({2, 2}, {0, 1, 1, 0});
  for (const char* slot : {"X", "Y"}) {
    EXPECT_EQ(ValuesOf<float>(
                  RunOp("mul", {{"X", x}, {"Y", y}}, {"Out"}, {}, {{{"Out", slot}}, 0}).at("Out")),
              (std::vector<float>{2, 1, 4, 3}));
  }
}

TEST(MulOp, HasTheGradientOfDifferences) {
  ExpectGradients({"mul",
                   {{"X", MakeTensor({3, 4}, SomeValues(12), {{0, 3}})},
                    {"Y", MakeTensor({4, 2}, SomeValues(8))}},
                   {"Out"},
                   "Out",
                   {"X", "Y", "Out"},
                   {"X", "Y"},
                   {}});
  ExpectGradients({"mul",
                   {{"X", MakeTensor({2, 1, 2, 2}, SomeValues(8))},
                    {"Y", MakeTensor({2, 2, 3}, SomeValues(12))}},
                   {"Out"},
                   "Out",
                   {"X", "Y"},
                   {"Y"},
                   {{"x_num_col_dims", 2}, {"y_num_col_dims", 2}}});
}

TEST(MulOp, RefusesWhatDoesNotFit) {
  const LoDTensor x = MakeTensor({2, 3}, SomeValues(6));
  ExpectRefused(
      "input 'Y' (variable 'y_variable') is float64 [2, 3]; 3 rows are needed, the columns of 'X' "
      "of "
      "dims [2, 3]; it has 2",
      "mul", {{"X", x}, {"Y", x}}, {"Out"});
  ExpectRefused(
      "input 'X' (variable 'x_variable') is float64 [2, 3]; more than x_num_col_dims = 2 "
      "axes are needed",
      "mul", {{"X", x}, {"Y", x}}, {"Out"}, {{"x_num_col_dims", 2}});
  ExpectRefused("input 'Y' (variable 'y_variable') is float64 [2, 3]; more than y_num_col_dims = 2",
                "mul", {{"X", x}, {"Y", x}}, {"Out"}, {{"y_num_col_dims", 2}});
  ExpectRefused("attribute 'x_num_col_dims' is 0; it must be at least 1", "mul",
                {{"X", x}, {"Y", x}}, {"Out"}, {{"x_num_col_dims", 0}});
  const LoDTensor ints = MakeTensor<int32_t>({1, 1}, {1});
  ExpectRefused("input 'X' (variable 'x_variable') is int32 [1, 1]; the types taken are float32",
                "mul", {{"X", ints}, {"Y", ints}}, {"Out"});
  ExpectRefused("input 'Y' (variable 'y_variable') is float32 [3, 1]; float64 is needed", "mul",
                {{"X", x}, {"Y", MakeTensor<float>({3, 1}, {1, 2, 3})}}, {"Out"});
  const LoDTensor y = MakeTensor({3, 2}, SomeValues(6));
  ExpectRefused(
      "input 'Out@GRAD' (variable 'out@grad_variable') is float64 [3, 2]; dims [2, 2] are "
      "needed",
      "mul_grad", {{"X", x}, {"Y", y}, {"Out@GRAD", y}}, {"X@GRAD"});
}

}  // namespace
}  // namespace millhopper
