// SPDX-License-Identifier: Apache-2.0
// clip.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

TEST(ClipOp, HoldsValuesBetweenTwoBounds) {
  const LoDTensor x = MakeTensor<float>({2, 2}, {-3, 0.5f, 4, 2}, {{0, 1, 2}});
  for (const RunOpOptions& options : {RunOpOptions(), RunOpOptions{{{"Out", "X"}}, 0}}) {
    const LoDTensor out =
        RunOp("clip", {{"X", x}}, {"Out"}, {{"min", 0.0}, {"max", 2.5}}, options).at("Out");
    EXPECT_EQ(ValuesOf<float>(out), (std::vector<float>{0, 0.5f, 2.5f, 2}));
    EXPECT_EQ(out.lod(), x.lod());
  }
}

TEST(ClipOp, HasNoBoundThatIsNotGiven) {
  const LoDTensor x = MakeTensor<double>({3}, {-1e300, 0, 1e300});
  const auto clipped = [&](const Attributes& attributes) {
    return ValuesOf<double>(RunOp("clip", {{"X", x}}, {"Out"}, attributes).at("Out"));
  };
  EXPECT_EQ(clipped({}), (std::vector<double>{-1e300, 0, 1e300}));
  EXPECT_EQ(clipped({{"min", -1.0}}), (std::vector<double>{-1, 0, 1e300}));
  EXPECT_EQ(clipped({{"max", 1.0}}), (std::vector<double>{-1e300, 0, 1}));
}

TEST(ClipOp, IntegersStayWithinBoundsThatAreNone) {
  constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
  const LoDTensor x = MakeTensor<int64_t>({4}, {-3, 0, 3, kHighest});
  const auto clipped = [&](double min, double max) {
    return ValuesOf<int64_t>(
        RunOp("clip", {{"X", x}}, {"Out"}, {{"min", min}, {"max", max}}).at("Out"));
  };
  EXPECT_EQ(clipped(-1.5, 2.5), (std::vector<int64_t>{-1, 0, 2, 2}));
  EXPECT_EQ(clipped(-1e30, 1e30), (std::vector<int64_t>{-3, 0, 3, kHighest}));
}

TEST(ClipOp, LeavesWhatIsNoNumber) {
  const LoDTensor x = MakeTensor<float>({1}, {std::nanf("")});
  const LoDTensor out = RunOp("clip", {{"X", x}}, {"Out"}, {{"min", 0.0}, {"max", 1.0}}).at("Out");
  EXPECT_TRUE(std::isnan(ValuesOf<float>(out)[0]));
}

TEST(ClipOp, RefusesBoundsInTheWrongOrder) {
  ExpectRefused("attribute 'min' is 2, and 'max' is 1", "clip",
                {{"X", MakeTensor<float>({1}, {3})}}, {"Out"}, {{"min", 2.0}, {"max", 1.0}});
}

}  // namespace
}  // namespace millhopper
