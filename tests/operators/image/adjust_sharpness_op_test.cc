// SPDX-License-Identifier: Apache-2.0
// adjust_sharpness.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/operators/image/image_checks.h"

namespace millhopper {
namespace {

using Bytes = std::vector<uint8_t>;

TEST(AdjustSharpnessOp, BlendsWithTheMeanOfNine) {
  const LoDTensor x = MakeTensor<uint8_t>({1, 3, 3, 1}, {13, 26, 39, 52, 100, 52, 39, 26, 13});
  const auto middle = [&](float factor) {
    Bytes values = ValuesOf<uint8_t>(RunImageOp("adjust_sharpness", x, {{"factor", factor}}));
    const uint8_t value = values[4];
    values[4] = 100;
    EXPECT_EQ(values, ValuesOf<uint8_t>(x));
    return value;
  };
  // (260 + 5 * 100) / 13 is 58.46.
  EXPECT_EQ(middle(0), 58);
  EXPECT_EQ(middle(0.5), 79);
  EXPECT_EQ(middle(1), 100);
  EXPECT_EQ(middle(2), 142);
  EXPECT_EQ(middle(1000), 255);
  // Its products are beyond float32. Of the pixels at the edges nothing is left but rounding.
  const Attributes huge = {{"factor", std::numeric_limits<float>::max()}};
  EXPECT_EQ(ValuesOf<uint8_t>(RunImageOp("adjust_sharpness", x, huge)),
            (Bytes{0, 0, 0, 0, 255, 0, 0, 0, 0}));
}

TEST(AdjustSharpnessOp, ChangesSomeImages) {
  ExpectChangesSomeImages("adjust_sharpness", {{"factor", 2.5f}});
}

TEST(AdjustSharpnessOp, Refuses) {
  const SlotTensors x = {{"X", RandomImages({1, 2, 2, 3})}};
  ExpectRefused("'factor'", "adjust_sharpness", x, {"Out"});
  ExpectRefused("attribute 'factor' is -0.5; it is at least 0", "adjust_sharpness", x, {"Out"},
                {{"factor", -0.5f}});
  ExpectRefused("attribute 'factor' is inf", "adjust_sharpness", x, {"Out"},
                {{"factor", INFINITY}});
}

}  // namespace
}  // namespace millhopper
