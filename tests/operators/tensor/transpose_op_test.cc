// SPDX-License-Identifier: Apache-2.0
// transpose.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "framework/base/random.h"
#include "tests/files/images.h"
#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Ints = std::vector<int32_t>;
using Floats = std::vector<float>;

template <typename T>
void ExpectTransposed() {
  std::vector<T> values;
  values.reserve(2 * 3 * 4 * 5);
  for (int i = 0; i < 2 * 3 * 4 * 5; ++i) values.push_back(static_cast<T>(i));
  const LoDTensor x = MakeTensor<T>({2, 3, 4, 5}, values);
  for (const Ints& axes :
       {Ints{0, 3, 1, 2}, Ints{3, 2, 1, 0}, Ints{0, 1, 2, 3}, Ints{1, 0, 3, 2}}) {
    const LoDTensor out = RunOp("transpose", {{"X", x}}, {"Out"}, {{"axis", axes}}).at("Out");
    std::vector<T> expected;
    int64_t at[4];
    const auto length = [&](int axis) { return x.dims()[static_cast<size_t>(axes[axis])]; };
    ASSERT_EQ(out.dims(), (Dims{length(0), length(1), length(2), length(3)}));
    int64_t i[4];
    for (i[0] = 0; i[0] < length(0); ++i[0]) {
      for (i[1] = 0; i[1] < length(1); ++i[1]) {
        for (i[2] = 0; i[2] < length(2); ++i[2]) {
          for (i[3] = 0; i[3] < length(3); ++i[3]) {
            for (int axis = 0; axis < 4; ++axis) at[axes[axis]] = i[axis];
            expected.push_back(
                values[static_cast<size_t>(((at[0] * 3 + at[1]) * 4 + at[2]) * 5 + at[3])]);
          }
        }
      }
    }
    EXPECT_EQ(ValuesOf<T>(out), expected);
  }
}

TEST(TransposeOp, PutsAxesInAnotherOrder) {
  ExpectTransposed<uint8_t>();
  ExpectTransposed<int16_t>();
  ExpectTransposed<float>();
  ExpectTransposed<int64_t>();
}

TEST(TransposeOp, TakesTensorsWithoutValues) {
  const LoDTensor x = MakeTensor<float>({0, 3}, {});
  EXPECT_EQ(RunOp("transpose", {{"X", x}}, {"Out"}, {{"axis", Ints{1, 0}}}).at("Out").dims(),
            (Dims{3, 0}));
}

TEST(TransposeOp, RefusesWrongAxes) {
  const LoDTensor x = MakeTensor<float>({1, 2}, {1, 2});
  ExpectRefused("must name each axis from 0 to 1 once", "transpose", {{"X", x}}, {"Out"},
                {{"axis", Ints{1, 1}}});
  ExpectRefused("must name each axis from 0 to 1 once", "transpose", {{"X", x}}, {"Out"},
                {{"axis", Ints{0, 2}}});
  ExpectRefused("attribute 'axis' is for 3 axes", "transpose", {{"X", x}}, {"Out"},
                {{"axis", Ints{1, 2, 0}}});
}

}  // namespace
}  // namespace millhopper
