// SPDX-License-Identifier: Apache-2.0
// sequence_mask.
#include <gtest/gtest.h>

#include <vector>

#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

LoDTensor Mask(const LoDTensor& x, const Attributes& attributes, bool dims_by_values = false) {
  RunOpOptions options;
  options.dims_by_values = dims_by_values;
  return RunOp("sequence_mask", {{"X", x}}, {"Y"}, attributes, options).at("Y");
}

TEST(SequenceMaskOp, TakesLengths) {
  const LoDTensor out = Mask(MakeTensor<int64_t>({2, 1}, {1, 3}), {{"maxlen", int64_t{2}}});
  EXPECT_EQ(out.dims(), (Dims{2, 1, 2}));
  EXPECT_EQ(ValuesOf<int64_t>(out), (std::vector<int64_t>{1, 0, 1, 1}));
  const LoDTensor longest =
      Mask(MakeTensor<int32_t>({2}, {0, 3}), {{"out_dtype", int32_t{0}}}, true);
  EXPECT_EQ(longest.dims(), (Dims{2, 3}));
  EXPECT_EQ(ValuesOf<bool>(longest), (std::vector<bool>{false, false, false, true, true, true}));
  EXPECT_EQ(Mask(MakeTensor<int32_t>({0}, {}), {}, true).dims(), (Dims{0, 0}));
}

TEST(SequenceMaskOp, TakesSequences) {
  const LoDTensor x = MakeTensor<uint8_t>({4}, {1, 2, 3, 4}, {{0, 3}, {0, 3, 3, 4}});
  const LoDTensor out = Mask(x, {{"out_dtype", int32_t{5}}}, true);
  EXPECT_EQ(out.lod(), (Lod{{0, 3}}));
  EXPECT_EQ(ValuesOf<float>(out), (std::vector<float>{1, 1, 1, 0, 0, 0, 1, 0, 0}));
}

TEST(SequenceMaskOp, RefusesWhatDoesNotFit) {
  ExpectError(ErrorCode::kDataLoss, "number 1 of X is -2, which is no length", [] {
    Mask(MakeTensor<int64_t>({2}, {1, -2}), {});
  });
  ExpectRefused("lengths, without one, are int64 or int32", "sequence_mask",
                {{"X", MakeTensor<float>({1}, {1})}}, {"Y"});
  ExpectRefused("attribute 'out_dtype' is bfloat16", "sequence_mask",
                {{"X", MakeTensor<int64_t>({1}, {1})}}, {"Y"}, {{"out_dtype", int32_t{22}}});
}

}  // namespace
}  // namespace millhopper
