// SPDX-License-Identifier: Apache-2.0
// aug_mix. tests/python/images/test_drawn.py compares its mixtures with torchvision's.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/operators/image/image_checks.h"

namespace millhopper {
namespace {

TEST(AugMixOp, OfSharesThatAreOneLeavesWhatNoChangeTouches) {
  // Black has only black in all chains, whatever their shares; shifted in, too.
  const LoDTensor black = MakeTensor<uint8_t>({30, 6, 7, 3}, std::vector<uint8_t>(3780, 0));
  const Attributes attributes = {{"all_ops", false}, {"alpha", 0.5f}, {"severity", int32_t{1}}};
  const LoDTensor out = RunImageOp("aug_mix", black, attributes);
  // Strength 0 leaves everything but for solarize, whose threshold of 255 turns white over.
  EXPECT_EQ(ValuesOf<uint8_t>(out), ValuesOf<uint8_t>(black));
}

TEST(AugMixOp, OfNoStrengthIsTheImageButForRounding) {
  // One change of the first strength: shears, shifts, turns and factors by nothing. Equalize and
  // autocontrast change images, those of full range and equal counts not.
  std::vector<uint8_t> values;
  for (int v = 0; v < 256; ++v) values.push_back(static_cast<uint8_t>(v));
  const LoDTensor ramp = MakeTensor<uint8_t>({1, 16, 16, 1}, values);
  int changed = 0;
  for (int32_t seed = 0; seed < 40; ++seed) {
    const LoDTensor out = RunImageOp("aug_mix", ramp,
                                     {{"severity", int32_t{1}},
                                      {"chain_depth", int32_t{1}},
                                      {"mixture_width", int32_t{4}},
                                      {"seed", seed}});
    for (size_t v = 0; v < values.size(); ++v) {
      // Posterize keeps 4 bits, and so takes 15 off at most.
      EXPECT_LE(out.data<uint8_t>()[v], values[v]);
      EXPECT_GE(out.data<uint8_t>()[v], values[v] == 255 ? 0 : std::max(0, values[v] - 16));
      changed += out.data<uint8_t>()[v] < values[v] - 1 ? 1 : 0;
    }
  }
  EXPECT_GT(changed, 0);
}

TEST(AugMixOp, DrawsForEachImage) {
  ExpectDrawsForEachImage("aug_mix", RandomImages({12, 9, 10, 3}), {});
  ExpectDrawsForEachImage("aug_mix", RandomImages({12, 9, 10, 1}),
                          {{"interpolation", std::string("bilinear")}, {"alpha", 0.2f}});
}

TEST(AugMixOp, Refuses) {
  const auto refused = [](const std::string& words, const Attributes& attributes) {
    ExpectRefused(words, "aug_mix", {{"X", RandomImages({1, 3, 3, 3})}}, {"Out"}, attributes);
  };
  refused("'severity' is 11", {{"severity", int32_t{11}}});
  refused("'mixture_width' is 0", {{"mixture_width", int32_t{0}}});
  refused("'mixture_width' is 21", {{"mixture_width", int32_t{21}}});
  refused("'chain_depth' is 21", {{"chain_depth", int32_t{21}}});
  refused("'alpha' is 0", {{"alpha", 0.0f}});
}

}  // namespace
}  // namespace millhopper
