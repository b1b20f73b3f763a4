// SPDX-License-Identifier: Apache-2.0
// pad.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "framework/base/random.h"
#include "tests/files/images.h"
#include "tests/operators/image/image_checks.h"
#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Ints = std::vector<int32_t>;
using Floats = std::vector<float>;

std::vector<int> Padded(const Ints& padding, const std::string& mode, float fill = 0) {
  const LoDTensor x = MakeTensor<uint8_t>({1, 2, 3, 1}, {1, 2, 3, 4, 5, 6});
  const std::vector<uint8_t> values = ValuesOf<uint8_t>(
      RunOp("pad", {{"X", x}}, {"Out"}, {{"padding", padding}, {"mode", mode}, {"fill", fill}})
          .at("Out"));
  return {values.begin(), values.end()};
}

TEST(PadOp, PutsPixelsAround) {
  EXPECT_EQ(Padded({1}, "constant", 9), (std::vector<int>{9, 9, 9, 9, 9,  //
                                                          9, 1, 2, 3, 9,  //
                                                          9, 4, 5, 6, 9,  //
                                                          9, 9, 9, 9, 9}));
  EXPECT_EQ(Padded({1, 0}, "edge"), (std::vector<int>{1, 1, 2, 3, 3, 4, 4, 5, 6, 6}));
  EXPECT_EQ(Padded({2, 0, 1, 1}, "reflect"), (std::vector<int>{3, 2, 1, 2, 3, 2,  //
                                                               6, 5, 4, 5, 6, 5,  //
                                                               3, 2, 1, 2, 3, 2}));
  EXPECT_EQ(Padded({2, 1, 1, 0}, "symmetric"), (std::vector<int>{2, 1, 1, 2, 3, 3,  //
                                                                 2, 1, 1, 2, 3, 3,  //
                                                                 5, 4, 4, 5, 6, 6}));
}

TEST(PadOp, CutsOffPixelsBelowZero) {
  EXPECT_EQ(Padded({-1, 0}, "constant"), (std::vector<int>{2, 5}));
  EXPECT_EQ(Padded({-1, 1, 1, -1}, "constant", 9), (std::vector<int>{9, 9, 9, 2, 3, 9}));
  EXPECT_EQ(Padded({-1, 1, 1, -1}, "edge"), (std::vector<int>{2, 3, 3, 2, 3, 3}));
  EXPECT_EQ(Padded({-1, -1}, "constant"), (std::vector<int>{}));
}

TEST(PadOp, BoxesOfImagesThatLoseAllPixelsAreNumbers) {
  const LoDTensor x = NumberedImage(2, 3);
  const LoDTensor points = MakeTensor<float>({1, 2}, {0.5f, 0.5f});
  for (const std::string format : {"xyxy", "xywh", "cxcywh"}) {
    for (const bool relative : {false, true}) {
      const LoDTensor boxes = MakeTensor<float>({1, 4}, {0.25f, 0, 0.75f, 1});
      const auto made =
          RunOp("pad", {{"X", x}, {"Boxes", boxes}, {"Points", points}},
                {"Out", "OutBoxes", "OutPoints", "Matrix"},
                {{"padding", Ints{-1, 0, -2, 0}}, {"box_format", format}, {"relative", relative}});
      EXPECT_EQ(made.at("Out").dims(), (Dims{1, 2, 0, 1}));
      const float right = format == "xyxy" ? -0.25f : 0.75f;
      EXPECT_EQ(ValuesOf<float>(made.at("OutBoxes")),
                relative ? (Floats{0, 0, 0, 1}) : (Floats{-0.75f, 0, right, 1}));
      EXPECT_EQ(ValuesOf<float>(made.at("OutPoints")),
                relative ? (Floats{0, 0.5f}) : (Floats{-0.5f, 0.5f}));
      EXPECT_EQ(ValuesOf<double>(made.at("Matrix")), (std::vector<double>{1, 0, -1, 0, 1, 0}));
    }
  }
}

TEST(PadOp, KeepsChannelsTogetherAndTakesFloats) {
  const LoDTensor x = MakeTensor<float>({2, 1, 1, 2}, {1, 2, 3, 4});
  EXPECT_EQ(ValuesOf<float>(
                RunOp("pad", {{"X", x}}, {"Out"}, {{"padding", Ints{0, 0, 1, 0}}, {"fill", -0.5f}})
                    .at("Out")),
            (Floats{1, 2, -0.5f, -0.5f, 3, 4, -0.5f, -0.5f}));
}

TEST(PadOp, MakesBillionsOfRowsWithoutPixelsAtOnce) {
  const LoDTensor x = MakeTensor<uint8_t>({1, 12, 0, 3}, {});
  const int32_t many = int32_t{1} << 30;
  const auto made = RunOp("pad", {{"X", x}}, {"Out"}, {{"padding", Ints{0, many}}});
  EXPECT_EQ(made.at("Out").dims(), (Dims{1, 12 + (int64_t{2} << 30), 0, 3}));
}

TEST(PadOp, RefusesWhatItCannotDo) {
  const LoDTensor x = NumberedImage(2, 3);
  ExpectRefused("attribute 'padding' has 3 values", "pad", {{"X", x}}, {"Out"},
                {{"padding", Ints{1, 2, 3}}});
  ExpectRefused("an image of 2 x 3 pixels cannot be mirrored for 2 more rows and 2 more columns",
                "pad", {{"X", x}}, {"Out"},
                {{"padding", Ints{2}}, {"mode", std::string("reflect")}});
  ExpectRefused("attribute 'fill' is 256", "pad", {{"X", x}}, {"Out"},
                {{"padding", Ints{2}}, {"fill", 256.0f}});
  ExpectRefused("has not as many as attribute 'padding' cuts off", "pad", {{"X", x}}, {"Out"},
                {{"padding", Ints{-2, 0, -2, 0}}});
}

TEST(PadOp, FillsEachChannel) {
  const LoDTensor image = MakeTensor<uint8_t>({1, 1, 1, 3}, {1, 2, 3});
  const auto padded = [&](const Floats& fills) {
    return Attributes{{"padding", Ints{1, 0, 0, 0}}, {"fills", fills}};
  };
  EXPECT_EQ(ValuesOf<uint8_t>(RunOp("pad", {{"X", image}}, {"Out"}, padded({7, 8, 9})).at("Out")),
            (std::vector<uint8_t>{7, 8, 9, 1, 2, 3}));
  ExpectRefused("attribute 'fills' has 2 values, and images have 3 channels", "pad", {{"X", image}},
                {"Out"}, padded({7, 8}));
  ExpectRefused("attribute 'fills' is 300", "pad", {{"X", image}}, {"Out"}, padded({7, 8, 300}));
}

TEST(PadOp, AddsWhatAnImageLacks) {
  const LoDTensor image = MakeTensor<uint8_t>({1, 1, 2, 1}, {7, 8});
  const auto padded = [&](const char* where, const std::vector<int32_t>& least,
                          const std::vector<int32_t>& padding) {
    return RunImageOp("pad", image,
                      {{"least", least}, {"where", std::string(where)}, {"padding", padding}});
  };
  const auto values = [&](const LoDTensor& tensor) { return ValuesOf<uint8_t>(tensor); };
  EXPECT_EQ(values(padded("end", {2, 3}, {0})), (std::vector<uint8_t>{7, 8, 0, 0, 0, 0}));
  EXPECT_EQ(values(padded("center", {1, 5}, {0})), (std::vector<uint8_t>{0, 7, 8, 0, 0}));
  EXPECT_EQ(values(padded("each", {1, 3}, {0})), (std::vector<uint8_t>{0, 7, 8, 0}));
  EXPECT_EQ(values(padded("each", {1, 1}, {0})), (std::vector<uint8_t>{7, 8}));
  // After the padding that all images get.
  EXPECT_EQ(values(padded("end", {1, 4}, {1, 0, 0, 0})), (std::vector<uint8_t>{0, 7, 8, 0}));
  ExpectRefused("'least' has 1 values", "pad", {{"X", image}}, {"Out"},
                {{"least", std::vector<int32_t>{3}}});
}

}  // namespace
}  // namespace millhopper
