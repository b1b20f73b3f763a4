// SPDX-License-Identifier: Apache-2.0
// scale.
#include <gtest/gtest.h>

#include <vector>

#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

TEST(ScaleOp, MultipliesAndAdds) {
  const LoDTensor x = MakeTensor<double>({2, 1}, {1.5, -4}, {{0, 1, 2}});
  for (const RunOpOptions& options : {RunOpOptions(), RunOpOptions{{{"Out", "X"}}, 0}}) {
    const LoDTensor out =
        RunOp("scale", {{"X", x}}, {"Out"}, {{"scale", 0.5f}, {"bias", 2.0f}}, options).at("Out");
    EXPECT_EQ(ValuesOf<double>(out), (std::vector<double>{2.75, 0}));
    EXPECT_EQ(out.dims(), x.dims());
    EXPECT_EQ(out.lod(), x.lod());
  }
  EXPECT_EQ(ValuesOf<double>(RunOp("scale", {{"X", x}}, {"Out"}).at("Out")), ValuesOf<double>(x));
}

TEST(ScaleOp, TakesFloatsAndIntegers) {
  const LoDTensor floats = MakeTensor<float>({1}, {3});
  EXPECT_EQ(
      ValuesOf<float>(RunOp("scale", {{"X", floats}}, {"Out"}, {{"scale", 0.5f}}).at("Out"))[0],
      1.5f);
  const LoDTensor ints = MakeTensor<int32_t>({2}, {3, -4});
  EXPECT_EQ(
      ValuesOf<int32_t>(
          RunOp("scale", {{"X", ints}}, {"Out"}, {{"scale", -2.0f}, {"bias", 1.0f}}).at("Out")),
      (std::vector<int32_t>{-5, 9}));
  const LoDTensor longs = MakeTensor<int64_t>({1}, {(int64_t{1} << 53) + 1});
  EXPECT_EQ(
      ValuesOf<int64_t>(RunOp("scale", {{"X", longs}}, {"Out"}, {{"scale", 2.0f}}).at("Out"))[0],
      (int64_t{1} << 54) + 2);
}

TEST(ScaleOp, TakesNoRows) {
  const LoDTensor none = MakeTensor<float>({0, 2}, {});
  EXPECT_EQ(RunOp("scale", {{"X", none}}, {"Out"}).at("Out").dims(), (Dims{0, 2}));
}

TEST(ScaleOp, RefusesWhatDoesNotFit) {
  ExpectRefused(
      "input 'X' (variable 'x_variable') is int32 [1]; scale 0.5 and bias 0 are not both "
      "whole numbers",
      "scale", {{"X", MakeTensor<int32_t>({1}, {3})}}, {"Out"}, {{"scale", 0.5f}});
  ExpectRefused("is bool [1]; the types taken are float32, float64, int32, int64", "scale",
                {{"X", MakeTensor<bool>({1}, {true})}}, {"Out"});
}

}  // namespace
}  // namespace millhopper
