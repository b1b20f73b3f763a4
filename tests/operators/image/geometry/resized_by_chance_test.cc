// SPDX-License-Identifier: Apache-2.0
// scale_jitter and random_shortest_size: resize to a size that is drawn.
// tests/python/images/test_drawn.py compares the sizes with torchvision's.
#include <gtest/gtest.h>

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
  ExpectRefused("without pixels", "scale_jitter", {{"X", RandomImages({1, 0, 4, 1})}}, {"Out"},
                {{"size", Ints{5, 9}}});
}

}  // namespace
}  // namespace millhopper
