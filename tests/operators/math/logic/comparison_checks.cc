// SPDX-License-Identifier: Apache-2.0
#include "tests/operators/math/logic/comparison_checks.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

template <typename T>
void CheckType(const std::string& type, T low, T middle, T high,
               const std::vector<bool>& expected) {
  const LoDTensor x = MakeTensor<T>({3, 1}, {low, middle, high}, {{0, 1, 3}});
  const LoDTensor y = MakeTensor<T>({1}, {middle});
  const LoDTensor out = RunOp(type, {{"X", x}, {"Y", y}}, {"Out"}).at("Out");
  EXPECT_EQ(ValuesOf<bool>(out), expected);
  EXPECT_EQ(out.dims(), x.dims());
  EXPECT_EQ(out.lod(), x.lod());
}

}  // namespace

void CheckComparison(const std::string& type, const std::vector<bool>& expected) {
  CheckType<int32_t>(type, -2, -1, 1, expected);
  CheckType<int64_t>(type, -1, int64_t{1} << 60, (int64_t{1} << 60) + 1, expected);
  CheckType<float>(type, -1.5f, 0.25f, 0.5f, expected);
  CheckType<double>(type, 1.0, 1.0 + 1e-7, 1.0 + 3e-7, expected);
  CheckType<double>(type, -std::numeric_limits<double>::infinity(), 0,
                    std::numeric_limits<double>::infinity(), expected);

  // Y is compared with each row of X.
  const LoDTensor matrix = MakeTensor<int32_t>({2, 3}, {0, 5, 9, 9, 5, 0});
  const LoDTensor row = MakeTensor<int32_t>({3}, {5, 5, 5});
  const bool below = expected[0], same = expected[1], above = expected[2];
  EXPECT_EQ(ValuesOf<bool>(RunOp(type, {{"X", matrix}, {"Y", row}}, {"Out"}).at("Out")),
            (std::vector<bool>{below, same, above, above, same, below}));
  // Y is compared with each column of X.
  const LoDTensor column = MakeTensor<int32_t>({2}, {5, 9});
  EXPECT_EQ(ValuesOf<bool>(RunOp(type, {{"X", matrix}, {"Y", column}}, {"Out"},
                                 {{"axis", 0}, {"force_cpu", false}})
                               .at("Out")),
            (std::vector<bool>{below, same, above, same, below, below}));
  // The result may take the place of X or Y, although it has another type.
  for (const char* slot : {"X", "Y"}) {
    const LoDTensor out =
        RunOp(type, {{"X", matrix}, {"Y", row}}, {"Out"}, {}, {{{"Out", slot}}, 0}).at("Out");
    EXPECT_EQ(ValuesOf<bool>(out), (std::vector<bool>{below, same, above, above, same, below}));
  }
  const LoDTensor none = MakeTensor<float>({0}, {});
  EXPECT_EQ(RunOp(type, {{"X", none}, {"Y", none}}, {"Out"}).at("Out").numel(), 0);

  const auto refused = [&](const LoDTensor& x, const LoDTensor& y, const std::string& words) {
    ExpectRefused(words, type, {{"X", x}, {"Y", y}}, {"Out"});
  };
  refused(matrix, column,
          "input 'Y' (variable 'y_variable') is int32 [2]; its dims must be those of 'X', [2, 3]");
  refused(matrix, none, "is float32 [0]; int32 is needed, the type of 'X'");
  const LoDTensor flag = MakeTensor<bool>({1}, {true});
  refused(
      flag, flag,
      "input 'X' (variable 'x_variable') is bool [1]; the types taken are float32, float64, int32, "
      "int64");
}

}  // namespace millhopper
