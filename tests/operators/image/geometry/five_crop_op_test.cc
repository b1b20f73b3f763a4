// SPDX-License-Identifier: Apache-2.0
// five_crop, compared with crop, center_crop and flip.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/operators/image/image_checks.h"

namespace millhopper {
namespace {

using Bytes = std::vector<uint8_t>;
using Ints = std::vector<int32_t>;

// The five parts of an image of 11 x 14 pixels, of 5 x 8.
Bytes Parts(const LoDTensor& image) {
  Bytes all;
  const auto add = [&](const LoDTensor& part) {
    const Bytes values = ValuesOf<uint8_t>(part);
    all.insert(all.end(), values.begin(), values.end());
  };
  const Ints size = {5, 8};
  for (const int32_t top : {0, 6}) {
    for (const int32_t left : {0, 6}) {
      add(RunImageOp("crop", image, {{"size", size}, {"top", top}, {"left", left}}));
    }
  }
  add(RunImageOp("center_crop", image, {{"size", size}}));
  return all;
}

TEST(FiveCropOp, TakesCornersAndMiddle) {
  const LoDTensor images = RandomImages({2, 11, 14, 3});
  const LoDTensor out = RunImageOp("five_crop", images, {{"size", Ints{5, 8}}});
  EXPECT_EQ(out.dims(), (Dims{10, 5, 8, 3}));
  const Bytes made = ValuesOf<uint8_t>(out);
  const Bytes wanted = Parts(FirstImages(images, 1));
  EXPECT_EQ(Bytes(made.begin(), made.begin() + 5 * 5 * 8 * 3), wanted);
}

TEST(FiveCropOp, TakesThoseOfTheMirroredImageToo) {
  const LoDTensor image = RandomImages({1, 11, 14, 3});
  for (const char* const axis : {"horizontal", "vertical"}) {
    const LoDTensor out =
        RunImageOp("five_crop", image, {{"size", Ints{5, 8}}, {"mirror", std::string(axis)}});
    EXPECT_EQ(out.dims(), (Dims{10, 5, 8, 3}));
    Bytes wanted = Parts(image);
    const Bytes mirrored = Parts(RunImageOp("flip", image, {{"axis", std::string(axis)}}));
    wanted.insert(wanted.end(), mirrored.begin(), mirrored.end());
    EXPECT_EQ(ValuesOf<uint8_t>(out), wanted) << axis;
  }
}

TEST(FiveCropOp, RefusesSmallImages) {
  ExpectRefused("has no part of 5 x 8", "five_crop", {{"X", RandomImages({1, 4, 9, 3})}}, {"Out"},
                {{"size", Ints{5, 8}}});
}

}  // namespace
}  // namespace millhopper
