// SPDX-License-Identifier: Apache-2.0
// autocontrast.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/operators/image/image_checks.h"

namespace millhopper {
namespace {

using Bytes = std::vector<uint8_t>;

TEST(AutocontrastOp, SpreadsEachChannelOfEachImage) {
  const LoDTensor x = MakeTensor<uint8_t>({2, 1, 3, 1}, {10, 60, 20, 7, 7, 7});
  EXPECT_EQ(ValuesOf<uint8_t>(RunImageOp("autocontrast", x)), (Bytes{0, 255, 51, 7, 7, 7}));
}

TEST(AutocontrastOp, ChangesSomeImages) { ExpectChangesSomeImages("autocontrast", {}); }

}  // namespace
}  // namespace millhopper
