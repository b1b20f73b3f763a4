// SPDX-License-Identifier: Apache-2.0
// one_hot.
#include <gtest/gtest.h>

#include <vector>

#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

LoDTensor OneHot(const LoDTensor& x, const Attributes& attributes) {
  return RunOp("one_hot", {{"X", x}}, {"Out"}, attributes).at("Out");
}

TEST(OneHotOp, MakesRows) {
  const LoDTensor out =
      OneHot(MakeTensor<int64_t>({3}, {2, 0, 1}, {{0, 1, 3}}), {{"depth", int32_t{3}}});
  EXPECT_EQ(out.dims(), (Dims{3, 3}));
  EXPECT_EQ(out.lod(), (Lod{{0, 1, 3}}));
  EXPECT_EQ(ValuesOf<float>(out), (std::vector<float>{0, 0, 1, 1, 0, 0, 0, 1, 0}));
}

TEST(OneHotOp, ReplacesAnAxisOfLengthOne) {
  const LoDTensor out = OneHot(MakeTensor<int32_t>({2, 1, 1}, {1, 0}),
                               {{"depth", int32_t{2}}, {"dtype", int32_t{3}}});
  EXPECT_EQ(out.dims(), (Dims{2, 1, 2}));
  EXPECT_EQ(ValuesOf<int64_t>(out), (std::vector<int64_t>{0, 1, 1, 0}));
}

TEST(OneHotOp, RefusesNumbersOutOfRangeUnlessTheyAreAllowed) {
  const LoDTensor x = MakeTensor<int64_t>({3, 1}, {1, -1, 2});
  ExpectError(ErrorCode::kDataLoss, "number 1 of X is -1; attribute 'depth' is 2", [&] {
    OneHot(x, {{"depth", int32_t{2}}});
  });
  EXPECT_EQ(ValuesOf<float>(OneHot(x, {{"depth", int32_t{2}}, {"allow_out_of_range", true}})),
            (std::vector<float>{0, 1, 0, 0, 0, 0}));
}

TEST(OneHotOp, RefusesWhatDoesNotFit) {
  const Attributes depth = {{"depth", int32_t{2}}};
  ExpectRefused("numbers are int64 or int32 [n] or [..., 1]", "one_hot",
                {{"X", MakeTensor<int64_t>({1, 2}, {1, 1})}}, {"Out"}, depth);
  ExpectRefused("the types taken are int64, int32", "one_hot", {{"X", MakeTensor<float>({1}, {1})}},
                {"Out"}, depth);
  ExpectRefused("attribute 'dtype' is float16", "one_hot", {{"X", MakeTensor<int64_t>({1}, {1})}},
                {"Out"}, {{"depth", int32_t{2}}, {"dtype", int32_t{4}}});
}

}  // namespace
}  // namespace millhopper
