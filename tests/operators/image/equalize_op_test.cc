// SPDX-License-Identifier: Apache-2.0
// equalize.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/operators/image/image_checks.h"

namespace millhopper {
namespace {

using Bytes = std::vector<uint8_t>;

TEST(EqualizeOp, SpreadsEachChannelOfEachImage) {
  // 300 pixels each: the first has 255 of 5, so that the step is 1, and the second too few below
  // its highest value.
  Bytes values(600, 5);
  for (size_t k = 255; k < 300; ++k) values[k] = 9;
  for (size_t k = 554; k < 600; ++k) values[k] = 9;
  const auto out =
      ValuesOf<uint8_t>(RunImageOp("equalize", MakeTensor<uint8_t>({2, 15, 20, 1}, values)));
  Bytes expected = values;
  for (size_t k = 0; k < 300; ++k) expected[k] = k < 255 ? 0 : 255;
  EXPECT_EQ(out, expected);
}

TEST(EqualizeOp, ChangesSomeImages) { ExpectChangesSomeImages("equalize", {}); }

}  // namespace
}  // namespace millhopper
