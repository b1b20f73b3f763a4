// SPDX-License-Identifier: Apache-2.0
// center_crop.
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

uint8_t FirstPixel(int64_t height, int64_t width, const Ints& size) {
  return ValuesOf<uint8_t>(
      RunOp("center_crop", {{"X", NumberedImage(height, width)}}, {"Out"}, {{"size", size}})
          .at("Out"))[0];
}

// round((H - h) / 2) of Python, which rounds a half to even.
TEST(CenterCropOp, KeepsTheMiddle) {
  EXPECT_EQ(FirstPixel(6, 8, {2, 4}), 22);
  EXPECT_EQ(FirstPixel(5, 8, {4, 8}), 0);   // round(0.5) is 0
  EXPECT_EQ(FirstPixel(7, 9, {4, 2}), 24);  // round(1.5) is 2, round(3.5) is 4
  EXPECT_EQ(FirstPixel(7, 9, {7, 9}), 0);
}

TEST(CenterCropOp, RefusesSmallImages) {
  ExpectRefused("an image of 5 x 6 pixels has no part of 7 x 3", "center_crop",
                {{"X", NumberedImage(5, 6)}}, {"Out"}, {{"size", Ints{7, 3}}});
}

}  // namespace
}  // namespace millhopper
