// SPDX-License-Identifier: Apache-2.0
// accuracy.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

std::map<std::string, LoDTensor> Accuracy(const LoDTensor& indices, const LoDTensor& label) {
  const LoDTensor unread = MakeTensor<float>({1}, {0});
  return RunOp("accuracy", {{"Out", unread}, {"Indices", indices}, {"Label", label}},
               {"Accuracy", "Correct", "Total"});
}

TEST(AccuracyOp, CountsRowsWhoseLabelIsFound) {
  const auto out = Accuracy(MakeTensor<int64_t>({4, 2}, {1, 2, 3, 4, 5, 6, 0, 1}),
                            MakeTensor<int64_t>({4, 1}, {2, 1, 5, 0}));
  EXPECT_EQ(ValuesOf<float>(out.at("Accuracy")), (std::vector<float>{0.75f}));
  EXPECT_EQ(ValuesOf<int32_t>(out.at("Correct")), (std::vector<int32_t>{3}));
  EXPECT_EQ(ValuesOf<int32_t>(out.at("Total")), (std::vector<int32_t>{4}));
}

TEST(AccuracyOp, IsZeroOfNoRows) {
  const auto out = Accuracy(MakeTensor<int64_t>({0, 2}, {}), MakeTensor<int64_t>({0, 1}, {}));
  EXPECT_EQ(ValuesOf<float>(out.at("Accuracy")), (std::vector<float>{0}));
  EXPECT_EQ(ValuesOf<int32_t>(out.at("Total")), (std::vector<int32_t>{0}));
}

TEST(AccuracyOp, RefusesWhatDoesNotFit) {
  const auto refused = [](const std::string& words, const LoDTensor& indices,
                          const LoDTensor& label) {
    ExpectError(ErrorCode::kInvalidArgument, words, [&] { Accuracy(indices, label); });
  };
  const LoDTensor indices = MakeTensor<int64_t>({2, 1}, {1, 2});
  refused(
      "input 'Label' (variable 'label_variable') is int64 [2]; int64 [2, 1] is needed, one class "
      "for each row of 'Indices'",
      indices, MakeTensor<int64_t>({2}, {1, 2}));
  refused("is int32 [2, 1]; int64 [2, 1] is needed", indices, MakeTensor<int32_t>({2, 1}, {1, 2}));
  refused("input 'Indices' (variable 'indices_variable') is float32 [1, 1]; int64 is needed",
          MakeTensor<float>({1, 1}, {1}), MakeTensor<int64_t>({1, 1}, {1}));
}

}  // namespace
}  // namespace millhopper
