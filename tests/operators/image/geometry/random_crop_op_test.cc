// SPDX-License-Identifier: Apache-2.0
// random_crop.
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

TEST(RandomCropOp, DrawsAPlaceForEachImage) {
  constexpr int64_t kImages = 200;
  std::vector<uint8_t> pixels;
  for (int64_t i = 0; i < kImages; ++i) {
    for (const uint8_t pixel : ValuesOf<uint8_t>(NumberedImage(9, 10))) pixels.push_back(pixel);
  }
  const LoDTensor out =
      RunOp("random_crop", {{"X", MakeTensor<uint8_t>({kImages, 9, 10, 1}, pixels)}}, {"Out"},
            {{"size", Ints{4, 6}}, {"seed", int32_t{3}}}, {{}, 11})
          .at("Out");
  EXPECT_EQ(out.dims(), (Dims{kImages, 4, 6, 1}));
  const std::vector<uint8_t> values = ValuesOf<uint8_t>(out);
  const RandomKey key(11, 3, "out_variable");
  std::vector<int> rows(6), columns(5);
  for (uint64_t i = 0; i < kImages; ++i) {
    const uint64_t y = key.Below(6, i, 0), x = key.Below(5, i, 1);
    EXPECT_EQ(values[i * 24], 10 * y + x);
    EXPECT_EQ(values[i * 24 + 23], 10 * (y + 3) + x + 5);
    ++rows[y];
    ++columns[x];
  }
  for (const int count : rows) EXPECT_GT(count, 10);
  for (const int count : columns) EXPECT_GT(count, 15);
}

TEST(RandomCropOp, RefusesSmallImages) {
  ExpectRefused("an image of 5 x 6 pixels has no part of 7 x 3", "random_crop",
                {{"X", NumberedImage(5, 6)}}, {"Out"}, {{"size", Ints{7, 3}}});
}

}  // namespace
}  // namespace millhopper
