// SPDX-License-Identifier: Apache-2.0
// mixup_detection. tests/python/images/test_records.py compares it with numpy.
#include <gtest/gtest.h>

#include <vector>

#include "tests/operators/image/image_checks.h"

namespace millhopper {
namespace {

RunOpOptions ByValues() {
  RunOpOptions options;
  options.dims_by_values = true;
  return options;
}

TEST(MixupDetectionOp, BlendsImagesAndJoinsWhatBelongsToThem) {
  const LoDTensor ones = MakeTensor<float>({1, 1, 2, 1}, {1, 1});
  const LoDTensor zeros = MakeTensor<float>({1, 1, 2, 1}, {0, 0});
  LoDTensor first = MakeTensor<int64_t>({2}, {4, 5});
  first.set_lod({{0, 2}});
  LoDTensor second = MakeTensor<int64_t>({1}, {6});
  second.set_lod({{0, 1}});
  const auto made =
      RunOp("mixup_detection", {{"X", ones}, {"X", zeros}, {"With", first}, {"With", second}},
            {"Out", "OutWith"}, {{"alpha", 32.0f}}, ByValues());
  const auto values = ValuesOf<float>(made.at("Out"));
  EXPECT_EQ(values[0], values[1]);  // lambda
  EXPECT_GT(values[0], 0.2f);
  EXPECT_LT(values[0], 0.8f);
  EXPECT_EQ(ValuesOf<int64_t>(made.at("OutWith")), (std::vector<int64_t>{4, 5, 6}));
  EXPECT_EQ(ToString(made.at("OutWith").lod()), ToString(Lod{{0, 3}}));
}

TEST(MixupDetectionOp, RefusesWhatDoesNotFit) {
  const LoDTensor image = RandomImages({1, 2, 2, 3});
  ExpectRefused("make images of one size before", "mixup_detection",
                {{"X", image}, {"X", RandomImages({1, 2, 3, 3})}}, {"Out"});
  ExpectRefused("masks of objects, with a level of detail", "mixup_detection",
                {{"X", image}, {"X", image}, {"Masks", image}, {"Masks", image}},
                {"Out", "OutMasks"});
  ExpectRefused("records have what can be laid end to end", "mixup_detection",
                {{"X", image},
                 {"X", image},
                 {"With", MakeTensor<int64_t>({1}, {1})},
                 {"With", MakeTensor<float>({1}, {1})}},
                {"Out", "OutWith"});
  ExpectRefused("alpha", "mixup_detection", {{"X", image}, {"X", image}}, {"Out"},
                {{"alpha", 0.0f}});
}

}  // namespace
}  // namespace millhopper
