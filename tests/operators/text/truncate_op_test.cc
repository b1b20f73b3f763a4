// SPDX-License-Identifier: Apache-2.0
// truncate.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

LoDTensor Truncate(const LoDTensor& x, int64_t length, const std::string& keep,
                   const RunOpOptions& options = {}) {
  return RunOp("truncate", {{"X", x}}, {"Out"}, {{"length", length}, {"keep", keep}}, options)
      .at("Out");
}

RunOpOptions InPlace() {
  RunOpOptions options;
  options.in_place = {{"Out", "X"}};
  options.dims_by_values = true;
  return options;
}

TEST(TruncateOp, KeepsTheFirstOrTheLastRows) {
  const LoDTensor x = MakeTensor<int64_t>({6, 1}, {1, 2, 3, 4, 5, 6}, {{0, 2}, {0, 4, 6}});
  const LoDTensor first = Truncate(x, 3, "first", InPlace());
  EXPECT_EQ(ValuesOf<int64_t>(first), (std::vector<int64_t>{1, 2, 3, 5, 6}));
  EXPECT_EQ(first.dims(), (Dims{5, 1}));
  EXPECT_EQ(first.lod(), (Lod{{0, 2}, {0, 3, 5}}));
  EXPECT_EQ(ValuesOf<int64_t>(Truncate(x, 1, "last", InPlace())), (std::vector<int64_t>{4, 6}));
  const LoDTensor none = Truncate(x, 0, "last", InPlace());
  EXPECT_EQ(none.dims(), (Dims{0, 1}));
  EXPECT_EQ(none.lod(), (Lod{{0, 2}, {0, 0, 0}}));
}

TEST(TruncateOp, TakesRowsWithoutLevelsForOneSequence) {
  const LoDTensor x = MakeTensor<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(ValuesOf<float>(Truncate(x, 2, "last")), (std::vector<float>{3, 4, 5, 6}));
  EXPECT_EQ(Truncate(x, 9, "first").dims(), x.dims());
}

TEST(TruncateOp, RefusesWhatDoesNotFit) {
  const LoDTensor x = MakeTensor<float>({1}, {1});
  ExpectRefused("it must be at least 0", "truncate", {{"X", x}}, {"Out"},
                {{"length", int64_t{-1}}});
  ExpectRefused("keep", "truncate", {{"X", x}}, {"Out"},
                {{"length", int64_t{1}}, {"keep", std::string("middle")}});
}

}  // namespace
}  // namespace millhopper
