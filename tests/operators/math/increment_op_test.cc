// SPDX-License-Identifier: Apache-2.0
// increment.
#include <gtest/gtest.h>

#include <limits>

#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

template <typename T>
T Incremented(T value, const Attributes& attributes, const RunOpOptions& options = {}) {
  const LoDTensor out =
      RunOp("increment", {{"X", MakeTensor<T>({1}, {value})}}, {"Out"}, attributes, options)
          .at("Out");
  EXPECT_EQ(out.dims(), (Dims{1}));
  return ValuesOf<T>(out)[0];
}

TEST(IncrementOp, AddsTheStepInTheTypeOfX) {
  const RunOpOptions in_place = {{{"Out", "X"}}, 0};
  EXPECT_EQ(Incremented<int64_t>((int64_t{1} << 60) + 1, {}, in_place), (int64_t{1} << 60) + 2);
  EXPECT_EQ(Incremented<int32_t>(5, {{"step", -2.75f}}, in_place), 3);
  EXPECT_EQ(Incremented<float>(0.5f, {{"step", 0.25f}}, in_place), 0.75f);
  EXPECT_EQ(Incremented<double>(0.5, {{"step", 0.25f}}), 0.75);
  EXPECT_EQ(Incremented<int32_t>(std::numeric_limits<int32_t>::max(), {}),
            std::numeric_limits<int32_t>::lowest());
}

TEST(IncrementOp, KeepsDims) {
  const LoDTensor x = MakeTensor<float>({1, 1, 1}, {1}, {{0, 1}});
  const LoDTensor out = RunOp("increment", {{"X", x}}, {"Out"}).at("Out");
  EXPECT_EQ(out.dims(), x.dims());
  EXPECT_EQ(out.lod(), x.lod());
}

TEST(IncrementOp, RefusesWhatDoesNotFit) {
  ExpectRefused("input 'X' (variable 'x_variable') is float32 [2]; one value is needed",
                "increment", {{"X", MakeTensor<float>({2}, {1, 2})}}, {"Out"});
  ExpectRefused("is float32 [0]; one value is needed", "increment",
                {{"X", MakeTensor<float>({0}, {})}}, {"Out"});
  ExpectRefused("is bool [1]; the types taken are float32, float64, int32, int64", "increment",
                {{"X", MakeTensor<bool>({1}, {true})}}, {"Out"});
}

}  // namespace
}  // namespace millhopper
