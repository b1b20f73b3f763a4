// SPDX-License-Identifier: Apache-2.0
// scale_jitter, resize_keep_ratio and random_shortest_size: resize to a size that is drawn.
// tests/python/images/test_drawn.py compares the sizes with torchvision's and timm's.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/operators/image/image_checks.h"

namespace millhopper {
namespace {

using Ints = std::vector<int32_t>;

RunOpOptions Sized(uint64_t seed) {
  RunOpOptions options;
  options.seed = seed;
  options.dims_by_values = true;
  return options;
}

LoDTensor Drawn(const std::string& type, const LoDTensor& image, const Attributes& attributes,
                uint64_t seed) {
  return RunOp(type, {{"X", image}}, {"Out"}, attributes, Sized(seed)).at("Out");
}

// Expects what resize makes of an image.
void ExpectResized(const LoDTensor& made, const LoDTensor& image, int64_t height, int64_t width) {
  const Ints size = {static_cast<int32_t>(height), static_cast<int32_t>(width)};
  const LoDTensor wanted = RunImageOp("resize", image, {{"size", size}});
  EXPECT_EQ(made.dims(), wanted.dims());
  EXPECT_EQ(ValuesOf<uint8_t>(made), ValuesOf<uint8_t>(wanted));
}

TEST(ScaleJitterOp, ResizesByADrawnFactor) {
  const LoDTensor image = RandomImages({1, 20, 30, 3});
  std::set<int64_t> heights;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const double scale = 0.5 + 1.5 * UnitOf(ImageOpKey(seed).Bits(0, 0));
    const LoDTensor made =
        Drawn("scale_jitter", image, {{"size", Ints{50, 60}}, {"scale", Floats{0.5f, 2.0f}}}, seed);
    // 60 of 30 columns is the lesser factor.
    ExpectResized(made, image, static_cast<int64_t>(20 * 2 * scale),
                  static_cast<int64_t>(30 * 2 * scale));
    heights.insert(made.dims()[1]);
  }
  EXPECT_GT(heights.size(), 20u);
  // No side becomes 0.
  const LoDTensor least = Drawn("scale_jitter", RandomImages({1, 1, 90, 1}),
                                {{"size", Ints{9, 9}}, {"scale", Floats{0.01f, 0.01f}}}, 1);
  EXPECT_EQ(least.dims(), (Dims{1, 1, 1, 1}));
}

TEST(ResizeKeepRatioOp, FillsASizeOrFitsIntoIt) {
  const LoDTensor image = RandomImages({1, 20, 33, 3});
  const auto made = [&](float longest) {
    return Drawn("resize_keep_ratio", image, {{"size", Ints{40, 50}}, {"longest", longest}}, 1);
  };
  ExpectResized(made(0), image, 40, 66);
  ExpectResized(made(1), image, 30, 50);     // 30.3
  ExpectResized(made(0.5f), image, 34, 57);  // 34.48, 56.9
}

TEST(ResizeKeepRatioOp, DrawsFactors) {
  const LoDTensor image = RandomImages({1, 20, 30, 3});
  std::set<std::pair<int64_t, int64_t>> sizes;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const RandomKey key = ImageOpKey(seed);
    const auto unit = [&](uint64_t draw) { return UnitOf(key.Bits(0, draw)); };
    double height = 60, width = 90;
    if (unit(0) < 0.5) {
      const double factor = 1 / std::sqrt(0.25 + 0.75 * unit(1));
      height *= factor;
      width *= factor;
    }
    if (unit(2) < 0.5) {
      const double aspect = std::exp(std::log(0.5) + (std::log(2.0) - std::log(0.5)) * unit(3));
      height /= std::sqrt(aspect);
      width *= std::sqrt(aspect);
    }
    const LoDTensor made = Drawn("resize_keep_ratio", image,
                                 {{"size", Ints{60, 60}},
                                  {"scale_p", 0.5f},
                                  {"scale", Floats{0.25f, 1}},
                                  {"scale_area", true},
                                  {"aspect_p", 0.5f},
                                  {"aspect", Floats{0.5f, 2}}},
                                 seed);
    ExpectResized(made, image, std::lround(height), std::lround(width));
    sizes.emplace(made.dims()[1], made.dims()[2]);
  }
  EXPECT_GT(sizes.size(), 20u);
}

TEST(RandomShortestSizeOp, ChoosesALengthUpToALongestSide) {
  const LoDTensor image = RandomImages({1, 30, 20, 3});
  std::set<std::pair<int64_t, int64_t>> sizes;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const LoDTensor made = Drawn("random_shortest_size", image,
                                 {{"min_size", Ints{10, 21, 40}}, {"max_size", int32_t{45}}}, seed);
    const int64_t widths[] = {10, 21, 30}, heights[] = {15, 31, 45};
    const uint64_t k = ImageOpKey(seed).Below(3, 0, 0);
    ExpectResized(made, image, heights[k], widths[k]);
    sizes.emplace(made.dims()[1], made.dims()[2]);
  }
  EXPECT_EQ(sizes.size(), 3u);
}

TEST(ResizedByChance, Refuses) {
  const SlotTensors x = {{"X", RandomImages({6, 30, 20, 3})}};
  ExpectRefused("images of one X keep one size", "random_shortest_size", x, {"Out"},
                {{"min_size", Ints{5, 9, 14}}});
  ExpectRefused("'min_size' has no length", "random_shortest_size", x, {"Out"},
                {{"min_size", Ints{}}});
  ExpectRefused("'scale' asks for the range from 0", "scale_jitter", x, {"Out"},
                {{"size", Ints{5, 9}}, {"scale", Floats{0, 1}}});
  ExpectRefused("'scale' is the lowest and the highest", "scale_jitter", x, {"Out"},
                {{"size", Ints{5, 9}}, {"scale", Floats{1}}});
  ExpectRefused("'longest' is 2", "resize_keep_ratio", x, {"Out"},
                {{"size", Ints{5, 9}}, {"longest", 2.0f}});
  ExpectRefused("'aspect' asks for the range from 2 to 1", "resize_keep_ratio", x, {"Out"},
                {{"size", Ints{5, 9}}, {"aspect", Floats{2, 1}}});
  ExpectRefused("without pixels", "scale_jitter", {{"X", RandomImages({1, 0, 4, 1})}}, {"Out"},
                {{"size", Ints{5, 9}}});
}

}  // namespace
}  // namespace millhopper
