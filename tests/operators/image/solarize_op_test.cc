// SPDX-License-Identifier: Apache-2.0
// solarize.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/operators/image/image_checks.h"

namespace millhopper {
namespace {

using Bytes = std::vector<uint8_t>;

TEST(SolarizeOp, TurnsBrightValues) {
  const LoDTensor x = MakeTensor<uint8_t>({1, 2, 2, 1}, {0, 127, 128, 255});
  EXPECT_EQ(ValuesOf<uint8_t>(RunImageOp("solarize", x)), (Bytes{0, 127, 127, 0}));
  EXPECT_EQ(ValuesOf<uint8_t>(RunImageOp("solarize", x, {{"threshold", 126.5f}})),
            (Bytes{0, 128, 127, 0}));
}

TEST(SolarizeOp, ChangesSomeImages) { ExpectChangesSomeImages("solarize", {}); }

TEST(SolarizeOp, Refuses) {
  const SlotTensors x = {{"X", RandomImages({1, 2, 2, 3})}};
  ExpectRefused("attribute 'threshold' is 256", "solarize", x, {"Out"}, {{"threshold", 256.0f}});
  ExpectRefused("attribute 'threshold' is -1", "solarize", x, {"Out"}, {{"threshold", -1.0f}});
  ExpectRefused("attribute 'threshold' is nan", "solarize", x, {"Out"}, {{"threshold", NAN}});
}

}  // namespace
}  // namespace millhopper
