// SPDX-License-Identifier: Apache-2.0
// invert.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/operators/image/image_checks.h"

namespace millhopper {
namespace {

TEST(InvertOp, TurnsValuesOver) {
  const LoDTensor x = MakeTensor<uint8_t>({1, 2, 2, 1}, {0, 1, 128, 255});
  EXPECT_EQ(ValuesOf<uint8_t>(RunImageOp("invert", x)), (std::vector<uint8_t>{255, 254, 127, 0}));
}

TEST(InvertOp, ChangesSomeImages) { ExpectChangesSomeImages("invert", {}); }

}  // namespace
}  // namespace millhopper
