// SPDX-License-Identifier: Apache-2.0
// color_jitter.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tests/operators/image/image_checks.h"

namespace millhopper {
namespace {

using Pixels = std::vector<double>;  // bytes of one image with three channels

double CutOff(double value) { return std::floor(std::clamp(value, 0.0, 255.0)); }

double Gray(const double* rgb) {
  return std::floor(0.2989 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2]);
}

void Brightness(double factor, Pixels* pixels) {
  for (double& value : *pixels) value = CutOff(factor * value);
}

void Contrast(double factor, Pixels* pixels) {
  double mean = 0;
  for (size_t k = 0; k < pixels->size(); k += 3) mean += Gray(pixels->data() + k);
  mean /= static_cast<double>(pixels->size()) / 3;
  for (double& value : *pixels) value = CutOff(factor * value + (1 - factor) * mean);
}

void Saturation(double factor, Pixels* pixels) {
  for (size_t k = 0; k < pixels->size(); k += 3) {
    const double gray = Gray(pixels->data() + k);
    for (size_t c = 0; c < 3; ++c) {
      (*pixels)[k + c] = CutOff(factor * (*pixels)[k + c] + (1 - factor) * gray);
    }
  }
}

// By the formulas that give each channel alone: value - value * saturation * max(0, min(k, 4 - k,
// 1)) with k = (n + hue * 6) mod 6 and n = 5, 3, 1.
void Hue(double turn, Pixels* pixels) {
  for (size_t p = 0; p < pixels->size(); p += 3) {
    double* const rgb = pixels->data() + p;
    const double highest = std::max({rgb[0], rgb[1], rgb[2]});
    const double range = highest - std::min({rgb[0], rgb[1], rgb[2]});
    double hue = 0;
    if (range > 0) {
      if (highest == rgb[0]) {
        hue = (rgb[1] - rgb[2]) / range;
      } else if (highest == rgb[1]) {
        hue = 2 + (rgb[2] - rgb[0]) / range;
      } else {
        hue = 4 + (rgb[0] - rgb[1]) / range;
      }
    }
    hue = std::fmod(hue + 6 * turn + 12, 6);
    for (int c = 0; c < 3; ++c) {
      const double k = std::fmod(5 - 2 * c + hue, 6);
      const double value = highest - range * std::clamp(std::min(k, 4 - k), 0.0, 1.0);
      rgb[c] = std::floor(value / 255 * 255.999);
    }
  }
}

void Adjust(size_t which, double factor, Pixels* pixels) {
  if (which == 0) Brightness(factor, pixels);
  if (which == 1) Contrast(factor, pixels);
  if (which == 2) Saturation(factor, pixels);
  if (which == 3) Hue(factor, pixels);
}

// Expects values that differ by so much at most: where a fraction is near a whole number, float32
// may cut it off at the other side of it.
void ExpectNear(const uint8_t* out, const Pixels& expected, double most) {
  for (size_t k = 0; k < expected.size(); ++k) EXPECT_NEAR(out[k], expected[k], most) << k;
}

TEST(ColorJitterOp, EachAdjustmentIsThatOfTorchvision) {
  const LoDTensor x = RandomImages({1, 16, 16, 3});
  const auto in = ValuesOf<uint8_t>(x);
  const std::string names[] = {"brightness", "contrast", "saturation", "hue"};
  for (size_t which = 0; which < 4; ++which) {
    for (const float factor : {0.0f, 0.3f, 0.5f, 1.0f, 1.6f, -0.25f, -0.5f}) {
      if (which == 3 ? std::abs(factor) > 0.5f : factor < 0) continue;
      const LoDTensor out = RunImageOp("color_jitter", x, {{names[which], Floats{factor, factor}}});
      Pixels expected(in.begin(), in.end());
      Adjust(which, factor, &expected);
      SCOPED_TRACE(names[which] + " " + std::to_string(factor));
      ExpectNear(out.data<uint8_t>(), expected, 1);
    }
  }
}

TEST(ColorJitterOp, HueOfSmallCases) {
  const LoDTensor x = MakeTensor<uint8_t>({1, 1, 4, 3}, {255, 0, 0, 0, 255, 0, 9, 9, 9, 0, 0, 255});
  // A half turn: the complements. The gray stays.
  EXPECT_EQ(ValuesOf<uint8_t>(RunImageOp("color_jitter", x, {{"hue", Floats{0.5f, 0.5f}}})),
            (std::vector<uint8_t>{0, 255, 255, 255, 0, 255, 9, 9, 9, 255, 255, 0}));
}

TEST(ColorJitterOp, DrawsFactorsAndOrderForEachImage) {
  constexpr int64_t kImages = 30;
  const LoDTensor x = SmoothImages({kImages, 8, 8, 3});
  const LoDTensor out = RunImageOp("color_jitter", x,
                                   {{"brightness", Floats{0.4f}},
                                    {"contrast", Floats{0.5f, 1.5f}},
                                    {"saturation", Floats{2.0f}},
                                    {"hue", Floats{0.1f}},
                                    {"seed", int32_t{4}}},
                                   9);
  const RandomKey key = ImageOpKey(9, 4);
  const double b = 0.4f;
  const double h = 0.1f;
  for (uint64_t i = 0; i < kImages; ++i) {
    const double factors[] = {1 - b + 2 * b * UnitOf(key.Bits(i, 0)), 0.5 + UnitOf(key.Bits(i, 1)),
                              3 * UnitOf(key.Bits(i, 2)), -h + 2 * h * UnitOf(key.Bits(i, 3))};
    std::array<size_t, 4> order = {0, 1, 2, 3};
    std::swap(order[3], order[key.Below(4, i, 4)]);
    std::swap(order[2], order[key.Below(3, i, 5)]);
    std::swap(order[1], order[key.Below(2, i, 6)]);
    const uint8_t* const in = x.data<uint8_t>() + i * 192;
    Pixels expected(in, in + 192);
    for (const size_t which : order) Adjust(which, factors[which], &expected);
    SCOPED_TRACE(i);
    // A difference of one may be enlarged by what follows.
    ExpectNear(out.data<uint8_t>() + i * 192, expected, 4);
  }
}

TEST(ColorJitterOp, LeavesImagesAsTheyAreUnlessAsked) {
  const LoDTensor x = RandomImages({2, 5, 3, 1});
  EXPECT_EQ(ValuesOf<uint8_t>(RunImageOp("color_jitter", x)), ValuesOf<uint8_t>(x));
  EXPECT_EQ(ValuesOf<uint8_t>(RunImageOp("color_jitter", x,
                                         {{"saturation", Floats{0.5f}}, {"hue", Floats{0.5f}}})),
            ValuesOf<uint8_t>(x));
  EXPECT_EQ(
      RunImageOp("color_jitter", RandomImages({1, 0, 3, 3}), {{"contrast", Floats{0.5f}}}).numel(),
      0);
}

TEST(ColorJitterOp, Refuses) {
  const SlotTensors x = {{"X", RandomImages({1, 2, 2, 3})}};
  ExpectRefused("attribute 'hue' goes from -0.75 to 0.75", "color_jitter", x, {"Out"},
                {{"hue", Floats{0.75f}}});
  ExpectRefused("'contrast' begins at -1", "color_jitter", x, {"Out"},
                {{"contrast", Floats{-1, 1}}});
  ExpectRefused("the lowest comes first", "color_jitter", x, {"Out"},
                {{"saturation", Floats{-0.5f}}});
  ExpectRefused("it must be finite", "color_jitter", x, {"Out"},
                {{"brightness", Floats{0, INFINITY}}});
  ExpectRefused("has 3 values", "color_jitter", x, {"Out"}, {{"brightness", Floats{1, 2, 3}}});
}

}  // namespace
}  // namespace millhopper
