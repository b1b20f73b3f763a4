// SPDX-License-Identifier: Apache-2.0
// flip.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "framework/base/random.h"
#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

LoDTensor Flip(const LoDTensor& images, const Attributes& attributes, uint64_t seed = 0) {
  return RunOp("flip", {{"X", images}}, {"Out"}, attributes, {{}, seed}).at("Out");
}

TEST(FlipOp, MirrorsLeftAndRight) {
  const LoDTensor x = MakeTensor<uint8_t>({1, 2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const LoDTensor out = Flip(x, {});
  EXPECT_EQ(out.dims(), x.dims());
  EXPECT_EQ(ValuesOf<uint8_t>(out), (std::vector<uint8_t>{5, 6, 3, 4, 1, 2, 11, 12, 9, 10, 7, 8}));
}

TEST(FlipOp, KeepsThePixelsOfAnyChannels) {
  for (const int64_t channels : {1, 2, 3, 4}) {
    std::vector<float> values, mirrored;
    for (int64_t v = 0; v < 5 * channels; ++v) values.push_back(static_cast<float>(v));
    for (int64_t x = 4; x >= 0; --x) {
      const auto pixel = values.begin() + x * channels;
      mirrored.insert(mirrored.end(), pixel, pixel + channels);
    }
    EXPECT_EQ(ValuesOf<float>(Flip(MakeTensor<float>({1, 1, 5, channels}, values), {})), mirrored);
    const std::vector<uint8_t> bytes(values.begin(), values.end());
    EXPECT_EQ(ValuesOf<uint8_t>(Flip(MakeTensor<uint8_t>({1, 1, 5, channels}, bytes), {})),
              std::vector<uint8_t>(mirrored.begin(), mirrored.end()));
  }
  for (const int64_t width : {1, 2}) {
    std::vector<uint8_t> row = {1, 2, 3, 4, 5, 6}, mirrored = {4, 5, 6, 1, 2, 3};
    row.resize(static_cast<size_t>(3 * width));
    if (width == 1) mirrored = row;
    EXPECT_EQ(ValuesOf<uint8_t>(Flip(MakeTensor<uint8_t>({1, 1, width, 3}, row), {})), mirrored);
  }
}

TEST(FlipOp, MirrorsTopAndBottomAndTakesFloats) {
  const LoDTensor x = MakeTensor<float>({1, 3, 2, 1}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(ValuesOf<float>(Flip(x, {{"axis", std::string("vertical")}})),
            (std::vector<float>{5, 6, 3, 4, 1, 2}));
}

// So many images of two pixels, 0 and 1.
LoDTensor Pairs(int64_t n) {
  std::vector<uint8_t> values;
  for (int64_t i = 0; i < n; ++i) values.insert(values.end(), {0, 1});
  return MakeTensor<uint8_t>({n, 1, 2, 1}, values);
}

TEST(FlipOp, DrawsForEachImage) {
  constexpr int kImages = 1000;
  const LoDTensor x = Pairs(kImages);
  const std::vector<uint8_t> out =
      ValuesOf<uint8_t>(Flip(x, {{"p", 0.25f}, {"seed", int32_t{5}}}, 7));
  const RandomKey key(7, 5, "out_variable");
  int flipped = 0;
  for (uint64_t i = 0; i < kImages; ++i) {
    const bool expected = static_cast<float>(key.Bits(i, 0) >> 40) / (1 << 24) < 0.25f;
    EXPECT_EQ(out[2 * i] == 1, expected) << i;
    flipped += expected;
  }
  EXPECT_NEAR(flipped, 0.25 * kImages, 60);
  EXPECT_EQ(ValuesOf<uint8_t>(Flip(x, {{"p", 0.0f}})), ValuesOf<uint8_t>(x));
}

TEST(FlipOp, DrawsAgainForEachStep) {
  const LoDTensor x = Pairs(64);
  const auto at = [&](int64_t step) {
    return ValuesOf<uint8_t>(RunOp("flip", {{"X", x}, {"Step", MakeTensor<int64_t>({1}, {step})}},
                                   {"Out"}, {{"p", 0.5f}})
                                 .at("Out"));
  };
  EXPECT_EQ(at(3), at(3));
  EXPECT_NE(at(3), at(4));
}

TEST(FlipOp, RefusesWhatIsNoImage) {
  ExpectRefused("images are uint8, uint16 or float32 [N, H, W, C]", "flip",
                {{"X", MakeTensor<float>({2, 2}, {1, 2, 3, 4})}}, {"Out"});
  ExpectRefused("attribute 'p' is 1.5", "flip", {{"X", MakeTensor<float>({1, 1, 1, 1}, {1})}},
                {"Out"}, {{"p", 1.5f}});
}

}  // namespace
}  // namespace millhopper
