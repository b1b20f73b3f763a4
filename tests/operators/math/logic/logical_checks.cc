// SPDX-License-Identifier: Apache-2.0
#include "tests/operators/math/logic/logical_checks.h"

#include <gtest/gtest.h>

#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {

void CheckLogical(const std::string& type, const std::vector<bool>& expected) {
  const LoDTensor x = MakeTensor<bool>({2, 2}, {false, false, true, true}, {{0, 2}});
  const LoDTensor y = MakeTensor<bool>({4}, {false, true, false, true});
  const LoDTensor out = RunOp(type, {{"X", x}, {"Y", y}}, {"Out"}).at("Out");
  EXPECT_EQ(ValuesOf<bool>(out), expected);
  EXPECT_EQ(out.dims(), x.dims());
  EXPECT_EQ(out.lod(), x.lod());
  for (const char* slot : {"X", "Y"}) {
    const LoDTensor in_place =
        RunOp(type, {{"X", x}, {"Y", y}}, {"Out"}, {}, {{{"Out", slot}}, 0}).at("Out");
    EXPECT_EQ(ValuesOf<bool>(in_place), expected);
    EXPECT_EQ(in_place.dims(), x.dims());
  }
  const LoDTensor none = MakeTensor<bool>({0}, {});
  EXPECT_EQ(RunOp(type, {{"X", none}, {"Y", none}}, {"Out"}).at("Out").numel(), 0);

  const auto refused = [&](const LoDTensor& left, const LoDTensor& right,
                           const std::string& words) {
    ExpectRefused(words, type, {{"X", left}, {"Y", right}}, {"Out"});
  };
  refused(x, none,
          "input 'Y' (variable 'y_variable') is bool [0]; as many values as in 'X' are needed, 4");
  const LoDTensor number = MakeTensor<int32_t>({4}, {0, 1, 0, 1});
  refused(x, number, "input 'Y' (variable 'y_variable') is int32 [4]; bool is needed");
  refused(number, number, "input 'X' (variable 'x_variable') is int32 [4]; the type taken is bool");
}

}  // namespace millhopper
