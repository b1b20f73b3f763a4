// SPDX-License-Identifier: Apache-2.0
// cutout.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/operators/image/image_checks.h"

namespace millhopper {
namespace {

constexpr int64_t kImages = 100;
constexpr int64_t kHeight = 12;
constexpr int64_t kWidth = 20;

// Images without a zero.
LoDTensor Ones() {
  return MakeTensor<uint8_t>({kImages, kHeight, kWidth, 1},
                             std::vector<uint8_t>(kImages * kHeight * kWidth, 1));
}

// Expects image i of Ones() to be covered by zeros within these rows and columns alone.
void ExpectCovered(const LoDTensor& out, int64_t i, int64_t top, int64_t bottom, int64_t left,
                   int64_t right) {
  for (int64_t y = 0; y < kHeight; ++y) {
    for (int64_t x = 0; x < kWidth; ++x) {
      const bool covered = y >= top && y < bottom && x >= left && x < right;
      ASSERT_EQ(out.data<uint8_t>()[(i * kHeight + y) * kWidth + x], covered ? 0 : 1)
          << i << " " << y << " " << x;
    }
  }
}

TEST(CutoutOp, ErasesAsRandomErasing) {
  const LoDTensor out = RunImageOp("cutout", Ones(), {{"seed", int32_t{3}}}, 8);
  const RandomKey key = ImageOpKey(8, 3);
  const double low = 0.02f;
  const double high = 0.33f;
  const double flat = std::log(static_cast<double>(0.3f));
  const double tall = std::log(static_cast<double>(3.3f));
  int covered = 0;
  for (int64_t image = 0; image < kImages; ++image) {
    const auto i = static_cast<uint64_t>(image);
    int64_t height = 0;
    int64_t width = 0;
    if (UnitOf(key.Bits(i, 0)) < 0.5) {
      for (uint64_t a = 0; a < 10; ++a) {
        const double area = 240 * (low + (high - low) * UnitOf(key.Bits(i, 1 + 2 * a)));
        const double aspect = std::exp(flat + (tall - flat) * UnitOf(key.Bits(i, 2 + 2 * a)));
        height = std::lrint(std::sqrt(area * aspect));
        width = std::lrint(std::sqrt(area / aspect));
        if (height < kHeight && width < kWidth) break;
        height = width = 0;
      }
    }
    covered += height > 0;
    const auto top = static_cast<int64_t>(key.Below(static_cast<uint64_t>(13 - height), i, 21));
    const auto left = static_cast<int64_t>(key.Below(static_cast<uint64_t>(21 - width), i, 22));
    ExpectCovered(out, image, top, top + height, left, left + width);
  }
  EXPECT_NEAR(covered, kImages / 2.0, 20);
}

TEST(CutoutOp, CoversASquareOfOneSize) {
  const LoDTensor out = RunImageOp("cutout", Ones(), {{"size", int32_t{5}}, {"p", 1.0f}});
  const RandomKey key = ImageOpKey();
  for (int64_t image = 0; image < kImages; ++image) {
    const auto i = static_cast<uint64_t>(image);
    const auto top = static_cast<int64_t>(key.Below(kHeight, i, 1)) - 2;
    const auto left = static_cast<int64_t>(key.Below(kWidth, i, 2)) - 2;
    ExpectCovered(out, image, top, top + 5, left, left + 5);
  }
}

TEST(CutoutOp, CoversFloatsWithAValueForEachChannel) {
  const LoDTensor x = MakeTensor<float>({1, 1, 1, 3}, {1, 2, 3});
  EXPECT_EQ(
      ValuesOf<float>(RunImageOp(
          "cutout", x, {{"size", int32_t{100}}, {"p", 1.0f}, {"value", Floats{-0.5f, 0.25f, 9}}})),
      (Floats{-0.5f, 0.25f, 9}));
  // No rectangle of two thirds of one pixel is smaller than it.
  EXPECT_EQ(ValuesOf<float>(RunImageOp("cutout", x, {{"p", 1.0f}, {"scale", Floats{0.6f, 0.7f}}})),
            (Floats{1, 2, 3}));
}

TEST(CutoutOp, CoversSeveralRectanglesByNoise) {
  const LoDTensor ones =
      MakeTensor<float>({kImages, kHeight, kWidth, 2}, Floats(kImages * kHeight * kWidth * 2, 1));
  const std::vector<int32_t> count = {1, 3};
  const Attributes drawn = {{"p", 1.0f}, {"count", count}, {"scale", Floats{0.2f, 0.5f}}};
  const auto with = [&](const char* mode) {
    Attributes attributes = drawn;
    attributes.emplace_back("mode", std::string(mode));
    attributes.emplace_back("mean", Floats{5, -5});
    attributes.emplace_back("std", Floats{0.5f});
    return ValuesOf<float>(RunImageOp("cutout", ones, attributes));
  };
  const Floats covered = ValuesOf<float>(RunImageOp("cutout", ones, drawn));
  const Floats pixel = with("pixel"), rand = with("rand");
  double sums[] = {0, 0}, squares[] = {0, 0};
  std::map<std::pair<size_t, float>, int> colours;  // of the first channel, in each image
  double numbers = 0;
  for (size_t v = 0; v < covered.size(); ++v) {
    EXPECT_EQ(pixel[v] == 1, covered[v] == 1);
    EXPECT_EQ(rand[v] == 1, covered[v] == 1);
    if (covered[v] == 1) continue;
    sums[v % 2] += double{pixel[v]};
    squares[v % 2] += double{pixel[v]} * double{pixel[v]};
    numbers += 0.5;
    if (v % 2 == 0) ++colours[{v / (kHeight * kWidth * 2), rand[v]}];
  }
  for (const size_t c : {0, 1}) {
    const double mean = sums[c] / numbers;
    EXPECT_NEAR(mean, c == 0 ? 5 : -5, 0.05);
    EXPECT_NEAR(squares[c] / numbers - mean * mean, 0.25, 0.03);
  }
  // One colour for each rectangle that is not covered by later ones.
  EXPECT_TRUE(colours.size() > 140 && colours.size() < 220) << colours.size();
  const RandomKey key = ImageOpKey();
  std::map<size_t, uint64_t> of_image;
  for (const auto& [colour, pixels] : colours) ++of_image[colour.first];
  for (const auto& [i, found] : of_image) {
    EXPECT_LE(found, 1 + key.Below(3, i, uint64_t{1} << 31));
  }
}

TEST(CutoutOp, RoundsNoiseToBytes) {
  const Attributes attributes = {{"p", 1.0f},
                                 {"scale", Floats{0.5f, 0.5f}},
                                 {"mode", std::string("pixel")},
                                 {"mean", Floats{250}},
                                 {"std", Floats{20}}};
  const auto out = ValuesOf<uint8_t>(RunImageOp("cutout", Ones(), attributes));
  const auto most = std::count(out.begin(), out.end(), 255);
  const auto covered = static_cast<int64_t>(out.size()) - std::count(out.begin(), out.end(), 1);
  EXPECT_NEAR(static_cast<double>(most) / static_cast<double>(covered), 0.41, 0.03);
}

TEST(CutoutOp, Refuses) {
  const SlotTensors x = {{"X", MakeTensor<uint8_t>({1, 1, 1, 3}, {1, 2, 3})}};
  ExpectRefused("'value' has 2 values", "cutout", x, {"Out"}, {{"value", Floats{1, 2}}});
  ExpectRefused("it must be whole", "cutout", x, {"Out"}, {{"value", Floats{0.5f}}});
  ExpectRefused("'scale' asks for", "cutout", x, {"Out"}, {{"scale", Floats{0.5f, 2}}});
  ExpectRefused("'ratio' asks for", "cutout", x, {"Out"}, {{"ratio", Floats{0, 1}}});
  ExpectRefused("'p' is 2", "cutout", x, {"Out"}, {{"p", 2.0f}});
  ExpectRefused("'count' asks for 3 to 2", "cutout", {{"X", Ones()}}, {"Out"},
                {{"count", std::vector<int32_t>{3, 2}}});
  ExpectRefused("'count' asks for 101 to 101", "cutout", {{"X", Ones()}}, {"Out"},
                {{"count", std::vector<int32_t>{101}}});
  ExpectRefused("'std' has the value inf", "cutout", {{"X", Ones()}}, {"Out"},
                {{"std", Floats{HUGE_VALF}}});
  ExpectRefused("'mean' has 2 values", "cutout", {{"X", Ones()}}, {"Out"},
                {{"mean", Floats{1, 2}}});
}

TEST(CutoutOp, TakesEitherLayout) {
  const LoDTensor x = RandomImages({3, 12, 16, 3});
  for (const char* mode : {"const", "rand", "pixel"}) {
    const auto covered = [&](const LoDTensor& images) {
      return RunImageOp("cutout", images,
                        {{"p", 1.0f},
                         {"count", std::vector<int32_t>{2}},
                         {"mode", std::string(mode)},
                         {"value", std::vector<float>{1, 2, 3}},
                         {"mean", std::vector<float>{100, 120, 140}},
                         {"std", std::vector<float>{30}}});
    };
    EXPECT_EQ(ValuesOf<uint8_t>(covered(ChannelsFirst(x))),
              ValuesOf<uint8_t>(ChannelsFirst(covered(x))))
        << mode;
  }
}

}  // namespace
}  // namespace millhopper
