// SPDX-License-Identifier: Apache-2.0
// posterize.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/operators/image/image_checks.h"

namespace millhopper {
namespace {

using Bytes = std::vector<uint8_t>;

TEST(PosterizeOp, KeepsTheUpperBits) {
  const LoDTensor x = MakeTensor<uint8_t>({1, 1, 2, 3}, {0, 31, 32, 127, 200, 255});
  const auto kept = [&](int32_t bits) {
    return ValuesOf<uint8_t>(RunImageOp("posterize", x, {{"bits", bits}}));
  };
  EXPECT_EQ(kept(3), (Bytes{0, 0, 32, 96, 192, 224}));
  EXPECT_EQ(kept(1), (Bytes{0, 0, 0, 0, 128, 128}));
  EXPECT_EQ(kept(0), Bytes(6));
  EXPECT_EQ(kept(8), ValuesOf<uint8_t>(x));
}

TEST(PosterizeOp, ChangesSomeImages) {
  ExpectChangesSomeImages("posterize", {{"bits", int32_t{2}}});
}

TEST(PosterizeOp, Refuses) {
  const SlotTensors x = {{"X", RandomImages({1, 2, 2, 3})}};
  ExpectRefused("'bits'", "posterize", x, {"Out"});
  ExpectRefused("attribute 'bits' is 9", "posterize", x, {"Out"}, {{"bits", int32_t{9}}});
  ExpectRefused("attribute 'bits' is -1", "posterize", x, {"Out"}, {{"bits", int32_t{-1}}});
}

}  // namespace
}  // namespace millhopper
