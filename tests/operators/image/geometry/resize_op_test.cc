// SPDX-License-Identifier: Apache-2.0
// resize; the values are those of Resampler, which has its own test.
#include <gtest/gtest.h>

#include <algorithm>
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

Dims Resized(int64_t height, int64_t width, const Attributes& attributes) {
  return RunOp("resize", {{"X", NumberedImage(height, width)}}, {"Out"}, attributes)
      .at("Out")
      .dims();
}

TEST(ResizeOp, TakesASizeOrTheLengthOfASide) {
  EXPECT_EQ(Resized(4, 7, {{"size", Ints{3, 5}}}), (Dims{1, 3, 5, 1}));
  EXPECT_EQ(Resized(4, 7, {{"size", Ints{6}}}), (Dims{1, 6, 10, 1}));  // 10.5, rounded down
  EXPECT_EQ(Resized(7, 4, {{"size", Ints{6}}}), (Dims{1, 10, 6, 1}));
  EXPECT_EQ(Resized(4, 7, {{"size", Ints{6}}, {"side", std::string("long")}}), (Dims{1, 3, 6, 1}));
  EXPECT_EQ(Resized(1, 9, {{"size", Ints{3}}, {"side", std::string("long")}}), (Dims{1, 1, 3, 1}));
}

TEST(ResizeOp, ResizesEveryImage) {
  const LoDTensor x = RandomImages({2, 5, 6, 3});
  const Attributes attributes = {{"size", Ints{7, 4}}, {"interpolation", std::string("bicubic")}};
  const std::vector<uint8_t> both =
      ValuesOf<uint8_t>(RunOp("resize", {{"X", x}}, {"Out"}, attributes).at("Out"));
  const std::vector<uint8_t> pixels = ValuesOf<uint8_t>(x);
  const LoDTensor second = MakeTensor<uint8_t>({1, 5, 6, 3}, {pixels.begin() + 90, pixels.end()});
  const std::vector<uint8_t> one =
      ValuesOf<uint8_t>(RunOp("resize", {{"X", second}}, {"Out"}, attributes).at("Out"));
  EXPECT_EQ(one, (std::vector<uint8_t>{both.begin() + 84, both.end()}));
}

// Floats are not rounded, and may lie outside of 0 to 255.
TEST(ResizeOp, TakesFloats) {
  const LoDTensor x = MakeTensor<float>({1, 1, 4, 1}, {-300, 100, 2.5f, 0.5f});
  EXPECT_EQ(ValuesOf<float>(RunOp("resize", {{"X", x}}, {"Out"},
                                  {{"size", Ints{1, 2}}, {"interpolation", std::string("area")}})
                                .at("Out")),
            (Floats{-100, 1.5f}));
  const LoDTensor bytes = RandomImages({1, 9, 8, 3});
  const Attributes attributes = {{"size", Ints{4, 5}}};
  const std::vector<uint8_t> rounded =
      ValuesOf<uint8_t>(RunOp("resize", {{"X", bytes}}, {"Out"}, attributes).at("Out"));
  const Floats floats =
      ValuesOf<float>(RunOp("resize", {{"X", AsFloats(bytes)}}, {"Out"}, attributes).at("Out"));
  for (size_t i = 0; i < rounded.size(); ++i) EXPECT_NEAR(rounded[i], floats[i], 1.01);
}

// numpy.asarray(PIL.Image.fromarray(numpy.array([[0, 50, 100, 65535], [10, 20000, 255, 30], [7, 8,
// 40000, 200]], dtype="uint16")).resize((2, 2), filter)) with Pillow 12.3.
TEST(ResizeOp, TakesNumbersOf16Bits) {
  using Numbers = std::vector<uint16_t>;
  const LoDTensor x =
      MakeTensor<uint16_t>({1, 3, 4, 1}, {0, 50, 100, 65535, 10, 20000, 255, 30, 7, 8, 40000, 200});
  const auto resized = [&](const std::string& interpolation) {
    return ValuesOf<uint16_t>(RunOp("resize", {{"X", x}}, {"Out"},
                                    {{"size", Ints{2, 2}}, {"interpolation", interpolation}})
                                  .at("Out"));
  };
  EXPECT_EQ(resized("bilinear"), (Numbers{3252, 18702, 6805, 11886}));
  EXPECT_EQ(resized("bicubic"), (Numbers{3399, 19820, 6707, 11765}));
  EXPECT_EQ(resized("area"), (Numbers{5015, 16481, 8, 20100}));
  EXPECT_EQ(resized("lanczos"), (Numbers{3493, 19812, 7581, 11235}));
  EXPECT_EQ(resized("nearest"), (Numbers{50, 65535, 8, 200}));
  // Where a filter goes beyond them, they end at 0 and 65535.
  const LoDTensor edge = MakeTensor<uint16_t>({1, 1, 4, 1}, {0, 0, 65535, 65535});
  const Numbers wide =
      ValuesOf<uint16_t>(RunOp("resize", {{"X", edge}}, {"Out"},
                               {{"size", Ints{1, 12}}, {"interpolation", std::string("bicubic")}})
                             .at("Out"));
  EXPECT_EQ(std::count(wide.begin(), wide.end(), 0), 5);
  EXPECT_EQ(std::count(wide.begin(), wide.end(), 65535), 5);
}

// Alpha is the second channel, and the black that cannot be seen does not show.
TEST(ResizeOp, WeighsByAlpha) {
  const LoDTensor x = MakeTensor<uint8_t>({1, 1, 2, 2}, {255, 255, 0, 0});
  EXPECT_EQ(
      ValuesOf<uint8_t>(RunOp("resize", {{"X", x}}, {"Out"}, {{"size", Ints{1, 1}}}).at("Out")),
      (std::vector<uint8_t>{255, 128}));
  EXPECT_EQ(
      ValuesOf<uint8_t>(RunOp("resize", {{"X", x}}, {"Out"}, {{"size", Ints{1, 2}}}).at("Out")),
      ValuesOf<uint8_t>(x));
  const LoDTensor floats = MakeTensor<float>({1, 1, 2, 2}, {255, 255, 0, 0});
  EXPECT_EQ(
      ValuesOf<float>(RunOp("resize", {{"X", floats}}, {"Out"}, {{"size", Ints{1, 1}}}).at("Out")),
      (Floats{127.5f, 127.5f}));
}

// The data decides the other side.
TEST(ResizeOp, TakesNoMemoryForImagesThatAreTooLong) {
  const LoDTensor x = MakeTensor<uint8_t>({1, 65500, 1, 1}, std::vector<uint8_t>(65500));
  ExpectError(ErrorCode::kResourceLimit, "an image of 33536000 x 512 pixels", [&] {
    RunOp("resize", {{"X", x}}, {"Out"}, {{"size", Ints{512}}});
  });
}

TEST(ResizeOp, RefusesWhatItCannotDo) {
  const LoDTensor x = NumberedImage(4, 7);
  ExpectRefused("attribute 'size' has 3 values", "resize", {{"X", x}}, {"Out"},
                {{"size", Ints{1, 2, 3}}});
  ExpectRefused("it must be at least 1", "resize", {{"X", x}}, {"Out"}, {{"size", Ints{0, 2}}});
  ExpectRefused("cubic", "resize", {{"X", x}}, {"Out"},
                {{"size", Ints{2}}, {"interpolation", std::string("cubic")}});
  ExpectRefused("without pixels", "resize", {{"X", MakeTensor<uint8_t>({1, 0, 7, 1}, {})}}, {"Out"},
                {{"size", Ints{2, 2}}});
}

TEST(ResizeOp, KeepsTheLongerSideBelowAMost) {
  const auto dims = [](const Dims& image, int32_t most) {
    return RunImageOp("resize", RandomImages(image),
                      {{"size", std::vector<int32_t>{8}}, {"max_size", most}})
        .dims();
  };
  EXPECT_EQ(dims({1, 10, 20, 3}, 16), (Dims{1, 8, 16, 3}));
  EXPECT_EQ(dims({1, 10, 20, 3}, 12), (Dims{1, 6, 12, 3}));
  EXPECT_EQ(dims({1, 40, 10, 3}, 9), (Dims{1, 9, 2, 3}));
  ExpectRefused("'max_size' is 8", "resize", {{"X", RandomImages({1, 4, 4, 1})}}, {"Out"},
                {{"size", std::vector<int32_t>{8}}, {"max_size", int32_t{8}}});
}

}  // namespace
}  // namespace millhopper
