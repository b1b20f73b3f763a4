// SPDX-License-Identifier: Apache-2.0
// rand_augment, compared with what torchvision 0.29 makes of the same image.
//
// Its numbers: with `pattern` and `weighted_sum` as pixel_patterns.h has them for numpy, and
// `from torchvision.transforms import autoaugment, InterpolationMode`, for each `name, (values,
// signed)` of autoaugment.RandAugment()._augmentation_space(31, (37, 41)).items()
//   weighted_sum(autoaugment._apply_op(
//       torch.from_numpy(pattern(37, 41, 3)).permute(2, 0, 1), name, float(values[9]),
//       interpolation=InterpolationMode.NEAREST, fill=None).permute(1, 2, 0).contiguous().numpy())
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/operators/image/image_checks.h"
#include "tests/operators/image/pixel_patterns.h"

namespace millhopper {
namespace {

using Bytes = std::vector<uint8_t>;
using Change = std::pair<uint64_t, bool>;  // which, and whether to the other side

constexpr uint64_t kSigned = 10;  // changes below this have two sides, but for 0

Change ChangeOf(const RandomKey& key, uint64_t i, uint64_t j) {
  const uint64_t which = key.Below(14, i, 2 * j);
  return {which, which > 0 && which < kSigned && key.Below(2, i, 2 * j + 1) == 1};
}

// What each change makes of an image.
std::map<Change, Bytes> ChangesOf(const Bytes& image, const ImageShape& shape,
                                  Attributes attributes) {
  constexpr uint64_t kImages = 300;
  Bytes images;
  for (uint64_t i = 0; i < kImages; ++i) images.insert(images.end(), image.begin(), image.end());
  attributes.emplace_back("num_ops", int32_t{1});
  const LoDTensor x = MakeTensor<uint8_t>(
      {static_cast<int64_t>(kImages), shape.height, shape.width, shape.channels}, images);
  const auto out = ValuesOf<uint8_t>(RunImageOp("rand_augment", x, attributes, 2));
  const RandomKey key = ImageOpKey(2);
  std::map<Change, Bytes> changes;
  for (uint64_t i = 0; i < kImages; ++i) {
    const auto begin = out.begin() + static_cast<int64_t>(i * image.size());
    const Bytes changed(begin, begin + static_cast<int64_t>(image.size()));
    const auto added = changes.emplace(ChangeOf(key, i, 0), changed);
    EXPECT_EQ(added.first->second, changed);
  }
  EXPECT_EQ(changes.size(), 23u);
  return changes;
}

TEST(RandAugmentOp, GivesTorchvisionsValues) {
  const OwnPixels image = PatternOf({37, 41, 3});
  const std::map<Change, int64_t> at_9 = {
      {{0, false}, 256514687},  {{1, false}, 246604743},  {{1, true}, 246407970},
      {{2, false}, 246581126},  {{2, true}, 252683071},   {{3, false}, 226838180},
      {{3, true}, 225776257},   {{4, false}, 231666072},  {{4, true}, 233573446},
      {{5, false}, 245305853},  {{5, true}, 243288505},   {{6, false}, 322342837},
      {{6, true}, 186146460},   {{7, false}, 256230115},  {{7, true}, 254938560},
      {{8, false}, 256167375},  {{8, true}, 255033133},   {{9, false}, 255258522},
      {{9, true}, 255756206},   {{10, false}, 255429186}, {{11, false}, 192212234},
      {{12, false}, 273364803}, {{13, false}, 317611636}};
  for (const auto& [change, changed] : ChangesOf(image.values, image.shape, {})) {
    EXPECT_EQ(WeightedSum(changed), at_9.at(change)) << "change " << change.first;
  }
  // Of magnitude 29. (At 30 degrees places lie between two pixels, and torchvision's are rounded.)
  const std::map<Change, int64_t> at_29 = {
      {{0, false}, 256514687},  {{1, false}, 224410772},  {{1, true}, 222853640},
      {{2, false}, 216889332},  {{2, true}, 223833446},   {{3, false}, 149513494},
      {{3, true}, 152221879},   {{4, false}, 141713010},  {{4, true}, 140171727},
      {{5, false}, 225214735},  {{5, true}, 227559957},   {{6, false}, 407818691},
      {{6, true}, 32227434},    {{7, false}, 260659723},  {{7, true}, 253825170},
      {{8, false}, 263239341},  {{8, true}, 254138749},   {{9, false}, 257914701},
      {{9, true}, 256320398},   {{10, false}, 239988192}, {{11, false}, 297103063},
      {{12, false}, 273364803}, {{13, false}, 317611636}};
  for (const auto& [change, changed] :
       ChangesOf(image.values, image.shape, {{"magnitude", int32_t{29}}})) {
    EXPECT_EQ(WeightedSum(changed), at_29.at(change)) << "change " << change.first;
  }
}

// Change j is made of what change j - 1 has made.
TEST(RandAugmentOp, MakesOneChangeAfterAnother) {
  const ImageShape shape{9, 8, 1};
  constexpr int64_t kImages = 6;
  const LoDTensor x = RandomImages({kImages, shape.height, shape.width, shape.channels});
  const Attributes filled = {{"fill", std::vector<int32_t>{40}},
                             {"interpolation", std::string("bilinear")}};
  Attributes attributes = filled;
  attributes.emplace_back("num_ops", int32_t{3});
  attributes.emplace_back("seed", int32_t{5});
  const auto out = ValuesOf<uint8_t>(RunImageOp("rand_augment", x, attributes, 4));
  const RandomKey key = ImageOpKey(4, 5);
  for (int64_t i = 0; i < kImages; ++i) {
    const uint8_t* const begin = x.data<uint8_t>() + i * shape.values();
    Bytes image(begin, begin + shape.values());
    for (uint64_t j = 0; j < 3; ++j) {
      image = ChangesOf(image, shape, filled).at(ChangeOf(key, static_cast<uint64_t>(i), j));
    }
    const auto changed = out.begin() + i * shape.values();
    EXPECT_EQ(Bytes(changed, changed + shape.values()), image) << "image " << i;
  }
}

TEST(RandAugmentOp, DrawsForEachImage) {
  const LoDTensor x = RandomImages({8, 9, 7, 3});
  ExpectDrawsForEachImage("rand_augment", x, {});
  EXPECT_EQ(ValuesOf<uint8_t>(RunImageOp("rand_augment", x, {{"num_ops", int32_t{0}}})),
            ValuesOf<uint8_t>(x));
  EXPECT_EQ(RunImageOp("rand_augment", RandomImages({40, 0, 3, 3})).numel(), 0);
  EXPECT_EQ(RunImageOp("rand_augment", RandomImages({40, 1, 1, 1})).numel(), 40);
}

// tests/python/images/test_drawn.py compares all changes of policies with timm's.
TEST(RandAugmentOp, MakesChangesOfPoliciesOfTimm) {
  // With no magnitude and one change at most: equalize, autocontrast, invert; the increasing
  // posterize keeps 4 bits, and nothing is moved or coloured.
  constexpr int64_t kImages = 300;
  const Dims dims = {kImages, 4, 5, 3};
  const auto in = ValuesOf<uint8_t>(RandomImages(dims));
  const auto out = ValuesOf<uint8_t>(RunImageOp("rand_augment", MakeTensor<uint8_t>(dims, in),
                                                {{"policy", std::string("rand-m0-n1-inc1")}}));
  const RandomKey key = ImageOpKey();
  int inverted = 0;
  for (size_t i = 0; i < kImages; ++i) {
    const uint64_t kind = key.Below(15, i, 0);
    const bool is_made = UnitOf(key.Bits(i, 1)) < 0.5;
    inverted += is_made && kind == 2 ? 1 : 0;
    for (size_t v = i * 60; v < (i + 1) * 60; ++v) {
      if (is_made && kind <= 1) continue;
      const uint8_t expected = !is_made    ? in[v]
                               : kind == 2 ? static_cast<uint8_t>(255 - in[v])
                               : kind == 4 ? static_cast<uint8_t>(in[v] & 0xf0)
                                           : in[v];
      ASSERT_EQ(out[v], expected) << i << " " << kind;
    }
  }
  EXPECT_GT(inverted, 3);
  ExpectDrawsForEachImage("rand_augment", RandomImages({20, 9, 11, 3}),
                          {{"policy", std::string("rand-m9-mstd0.5-inc1")}});
}

TEST(RandAugmentOp, Refuses) {
  const auto refused = [](const std::string& words, const Attributes& attributes,
                          int64_t channels = 3) {
    ExpectRefused(words, "rand_augment", {{"X", RandomImages({1, 4, 9, channels})}}, {"Out"},
                  attributes);
  };
  refused("attribute 'num_ops' is -1", {{"num_ops", int32_t{-1}}});
  refused("attribute 'num_ops' is 101; it is from 0 to 100", {{"num_ops", int32_t{101}}});
  refused("attribute 'magnitude' is 31; it is from 0 to num_magnitude_bins - 1, which is 30",
          {{"magnitude", int32_t{31}}});
  refused("attribute 'magnitude' is -1", {{"magnitude", int32_t{-1}}});
  refused("attribute 'num_magnitude_bins' is 1; there are at least 2",
          {{"num_magnitude_bins", int32_t{1}}, {"magnitude", int32_t{0}}});
  refused("'fill' has the value 256", {{"fill", std::vector<int32_t>{256}}});
  refused("'interpolation'", {{"interpolation", std::string("cubic")}});
  refused("uint8 images with 1 or 3 channels", {}, 4);
  const auto refused_policy = [&](const std::string& words, const std::string& policy) {
    refused(words, {{"policy", policy}});
  };
  refused_policy("'policy' is 'augmix-m3'; it begins with 'rand'", "augmix-m3");
  refused_policy("'tweights' is no option that is known", "rand-m9-tweights");
  refused_policy("'m' is no 'm' with a whole magnitude", "rand-m");
  refused_policy("'m1.5' is no 'm' with a whole magnitude", "rand-m1.5");
  refused_policy("'p1.5' is no 'p' with a probability", "rand-p1.5");
  refused_policy("'n0x3' is no 'n'", "rand-n0x3");
  refused_policy("'' is no option", "rand-");
}

}  // namespace
}  // namespace millhopper
