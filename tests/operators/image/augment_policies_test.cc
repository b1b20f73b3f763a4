// SPDX-License-Identifier: Apache-2.0
// trivial_augment_wide and auto_augment, compared with the operators that make single changes.
// tests/python/images/test_torchvision.py compares all of their changes with torchvision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/operators/image/image_checks.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr int64_t kImages = 400;

// The numbers of changes, as rand_augment has them; 14 inverts.
constexpr uint64_t kRotate = 5, kBrightness = 6, kColor = 7, kContrast = 8, kSharpness = 9,
                   kPosterize = 10, kSolarize = 11, kAutoContrast = 12, kEqualize = 13,
                   kInvert = 14;

// One image, so many times.
LoDTensor Copies(const LoDTensor& image) {
  const Bytes one = ValuesOf<uint8_t>(image);
  Bytes all;
  for (int64_t i = 0; i < kImages; ++i) all.insert(all.end(), one.begin(), one.end());
  Dims dims = image.dims();
  dims[0] = kImages;
  return MakeTensor<uint8_t>(dims, all);
}

// What a change makes of an image; nothing for those that no other operator makes.
std::optional<LoDTensor> Changed(const LoDTensor& image, uint64_t change, double amount) {
  const auto number = static_cast<float>(amount);
  const Floats factor = {1 + number, 1 + number};
  switch (change) {
    case 0:
      return image;
    case kRotate:
      return RunImageOp("rotate", image, {{"degrees", Floats{number, number}}});
    case kBrightness:
      return RunImageOp("color_jitter", image, {{"brightness", factor}});
    case kColor:
      return RunImageOp("color_jitter", image, {{"saturation", factor}});
    case kContrast:
      return RunImageOp("color_jitter", image, {{"contrast", factor}});
    case kSharpness:
      return RunImageOp("adjust_sharpness", image, {{"factor", 1 + number}});
    case kPosterize:
      return RunImageOp("posterize", image, {{"bits", static_cast<int32_t>(amount)}});
    case kSolarize:
      return RunImageOp("solarize", image, {{"threshold", number}});
    case kAutoContrast:
      return RunImageOp("autocontrast", image);
    case kEqualize:
      return RunImageOp("equalize", image);
    case kInvert:
      return RunImageOp("invert", image);
    default:
      return std::nullopt;
  }
}

Bytes ImageAt(const LoDTensor& images, int64_t i) {
  const int64_t values = images.numel() / images.dims()[0];
  const uint8_t* const begin = images.data<uint8_t>() + i * values;
  return Bytes(begin, begin + values);
}

// Expects image i to be this one. Operators that change colours have their factors in float32,
// policies 1 plus a float32 in double, so that a value may be rounded the other way.
void ExpectImage(const LoDTensor& images, int64_t i, const LoDTensor& expected, int most) {
  const Bytes made = ImageAt(images, i), wanted = ValuesOf<uint8_t>(expected);
  ASSERT_EQ(made.size(), wanted.size());
  int farthest = 0;
  for (size_t k = 0; k < made.size(); ++k) {
    farthest = std::max(farthest, std::abs(int{made[k]} - int{wanted[k]}));
  }
  EXPECT_LE(farthest, most);
}

// Number `bin` of `bins` in float32.
double Between(double low, double high, int64_t bin, int64_t bins) {
  const float step =
      (static_cast<float>(high) - static_cast<float>(low)) / static_cast<float>(bins - 1);
  return bin < bins / 2 ? static_cast<float>(low) + step * static_cast<float>(bin)
                        : static_cast<float>(high) - step * static_cast<float>(bins - 1 - bin);
}

TEST(TrivialAugmentWideOp, MakesOneChangeOfAnyStrength) {
  const LoDTensor image = RandomImages({1, 9, 11, 3});
  const LoDTensor out = RunImageOp("trivial_augment_wide", Copies(image), {}, 7);
  const RandomKey key = ImageOpKey(7);
  std::vector<int> seen(14, 0);
  for (int64_t i = 0; i < kImages; ++i) {
    const auto at = static_cast<uint64_t>(i);
    const uint64_t change = key.Below(14, at, 0);
    const auto bin = static_cast<int64_t>(key.Below(31, at, 1));
    const double sign = key.Below(2, at, 2) == 1 ? -1 : 1;
    double amount = sign * Between(0, 0.99, bin, 31);
    if (change == kRotate) amount = sign * Between(0, 135, bin, 31);
    if (change == kPosterize) amount = 8 - std::rint(static_cast<float>(bin) / 5.0f);
    if (change == kSolarize) amount = Between(255, 0, bin, 31);
    const std::optional<LoDTensor> expected = Changed(image, change, amount);
    ++seen[change];
    SCOPED_TRACE(change);
    const bool is_factor = change >= kBrightness && change <= kSharpness;
    if (expected) ExpectImage(out, i, *expected, is_factor ? 1 : 0);
  }
  for (const int count : seen) EXPECT_GT(count, 10);
}

TEST(TrivialAugmentWideOp, DrawsForEachImage) {
  ExpectDrawsForEachImage("trivial_augment_wide", RandomImages({8, 9, 7, 3}), {});
  ExpectRefused("attribute 'num_magnitude_bins' is 1", "trivial_augment_wide",
                {{"X", RandomImages({1, 4, 9, 3})}}, {"Out"}, {{"num_magnitude_bins", int32_t{1}}});
}

// A change, its probability in tenths, and its strength, of 10.
struct Likely {
  uint64_t change;
  int tenths;
  int64_t bin;
};
using Pair = std::vector<Likely>;

// Pairs 0, 1, 2, 7, 11, 13 and 16 of ImageNet's.
Pair ImageNetPair(uint64_t number) {
  switch (number) {
    case 0:
      return {{kPosterize, 4, 8}, {kRotate, 6, 9}};
    case 1:
      return {{kSolarize, 6, 5}, {kAutoContrast, 6, 0}};
    case 2:
      return {{kEqualize, 8, 0}, {kEqualize, 6, 0}};
    case 7:
      return {{kPosterize, 8, 5}, {kEqualize, 10, 0}};
    case 11:
      return {{kRotate, 4, 9}, {kEqualize, 6, 0}};
    case 13:
      return {{kInvert, 6, 0}, {kEqualize, 10, 0}};
    case 16:
      return {{kColor, 8, 8}, {kSolarize, 8, 7}};
    default:
      return {};
  }
}

TEST(AutoAugmentOp, MakesThePairsOfItsPolicy) {
  const LoDTensor image = RandomImages({1, 9, 11, 3});
  const LoDTensor out = RunImageOp("auto_augment", Copies(image), {}, 7);
  const RandomKey key = ImageOpKey(7);
  int seen = 0;
  for (int64_t i = 0; i < kImages; ++i) {
    const auto at = static_cast<uint64_t>(i);
    LoDTensor expected = image;
    const Pair pair = ImageNetPair(key.Below(25, at, 0));
    for (uint64_t j = 0; j < pair.size(); ++j) {
      const auto& [change, tenths, bin] = pair[j];
      const bool is_made = UnitOf(key.Bits(at, 1 + 2 * j)) < static_cast<float>(tenths) / 10;
      const double sign = key.Below(2, at, 2 + 2 * j) == 1 ? -1 : 1;
      double amount = sign * Between(0, 0.9, bin, 10);
      if (change == kRotate) amount = sign * Between(0, 30, bin, 10);
      if (change == kPosterize) amount = 8 - std::rint(static_cast<float>(bin) / 2.25f);
      if (change == kSolarize) amount = Between(255, 0, bin, 10);
      if (is_made) expected = *Changed(expected, change, amount);
    }
    if (pair.empty()) continue;
    ++seen;
    SCOPED_TRACE(key.Below(25, at, 0));
    ExpectImage(out, i, expected, 0);
  }
  EXPECT_GT(seen, 60);
}

// What they are is compared with timm by tests/python/images/test_drawn.py, where that is
// installed; these are digests of what they made when it was.
TEST(AutoAugmentOp, MakesThePairsOfPoliciesOfTimm) {
  const LoDTensor images = RandomImages({600, 9, 7, 3});
  const auto expect = [&](const char* policy, const char* digest) {
    const LoDTensor made = RunImageOp("auto_augment", images, {{"policy", std::string(policy)}}, 7);
    EXPECT_EQ(DigestOf(ValueOf({made})), digest) << policy;
  };
  expect("original", "0b07d6fb4f8731857993f8c364f81bddd9abccb8b1b301e2d3b5e44fc11f21f5");
  expect("originalr", "9ab31010797d21247fd702b2d16ab6effb648638035fd0d2e7000ebb165c1be3");
  expect("v0", "73291ab819f7dc3eae0697ade745ab83e8cc613a3c6a026a580e31df39331076");
  expect("v0r", "76db3a75c2791b6f398435fba84a4071d4e511f119e2a9daa23ee4e09f099feb");
}

TEST(AutoAugmentOp, HasEightPolicies) {
  const LoDTensor images = RandomImages({200, 9, 7, 3});
  std::set<Bytes> made;
  for (const char* const policy :
       {"imagenet", "cifar10", "svhn", "original", "originalr", "v0", "v0r", "v0-mstd0.5"}) {
    const Attributes attributes = {{"policy", std::string(policy)}};
    ExpectDrawsForEachImage("auto_augment", images, attributes);
    made.insert(ValuesOf<uint8_t>(RunImageOp("auto_augment", images, attributes)));
  }
  EXPECT_EQ(made.size(), 8u);
  const auto refused = [&](const std::string& words, const std::string& policy) {
    ExpectRefused(words, "auto_augment", {{"X", images}}, {"Out"}, {{"policy", policy}});
  };
  refused("attribute 'policy' is 'mnist'", "mnist");
  refused("where 'm5' is no option that is known: this is mstd", "v0-m5");
  refused("where 'mstd' is no 'mstd' with a standard deviation", "original-mstd");
  refused("where 'mstd101' is no 'mstd' with a standard deviation up to 100", "v0r-mstd101");
}

}  // namespace
}  // namespace millhopper
