// SPDX-License-Identifier: Apache-2.0
// photometric_distort, compared with color_jitter, which changes one thing at a time.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/operators/image/image_checks.h"

namespace millhopper {
namespace {

using Bytes = std::vector<uint8_t>;

// An image after one change of color_jitter by this factor.
LoDTensor Jittered(const LoDTensor& image, const std::string& name, double factor) {
  const auto one = static_cast<float>(factor);
  return RunImageOp("color_jitter", image, {{name, Floats{one, one}}});
}

TEST(PhotometricDistortOp, MakesEachChangeByChance) {
  constexpr int64_t kImages = 60, kSide = 9;
  const LoDTensor images = RandomImages({kImages, kSide, kSide, 3});
  const LoDTensor out = RunImageOp("photometric_distort", images, {{"p", 0.6f}}, 3);
  const RandomKey key = ImageOpKey(3);
  constexpr size_t kValues = kSide * kSide * 3;
  int permuted = 0;
  for (uint64_t i = 0; i < kImages; ++i) {
    const uint8_t* const own = images.data<uint8_t>() + i * kValues;
    LoDTensor image = MakeTensor<uint8_t>({1, kSide, kSide, 3}, Bytes(own, own + kValues));
    const auto change = [&](const std::string& name, uint64_t which, double low, double high) {
      if (UnitOf(key.Bits(i, 2 * which)) >= 0.6) return;
      image = Jittered(image, name, low + (high - low) * UnitOf(key.Bits(i, 2 * which + 1)));
    };
    const bool before = UnitOf(key.Bits(i, 8)) < 0.5;
    change("brightness", 0, 0.875, 1.125);
    if (before) change("contrast", 1, 0.5, 1.5);
    change("saturation", 2, 0.5, 1.5);
    change("hue", 3, -0.05f, 0.05f);
    if (!before) change("contrast", 1, 0.5, 1.5);
    Bytes wanted = ValuesOf<uint8_t>(image);
    if (UnitOf(key.Bits(i, 9)) < 0.6) {
      ++permuted;
      size_t order[] = {0, 1, 2};
      std::swap(order[2], order[key.Below(3, i, 10)]);
      std::swap(order[1], order[key.Below(2, i, 11)]);
      const Bytes ordered = wanted;
      for (size_t v = 0; v < kValues; ++v) wanted[v] = ordered[v / 3 * 3 + order[v % 3]];
    }
    // Factors are float32 there and double here, so a value may be rounded the other way.
    for (size_t v = 0; v < kValues; ++v) {
      EXPECT_NEAR(out.data<uint8_t>()[i * kValues + v], wanted[v], 1) << i;
    }
  }
  EXPECT_TRUE(permuted > 20 && permuted < 50) << permuted;
}

TEST(PhotometricDistortOp, DrawsForEachImage) {
  ExpectDrawsForEachImage("photometric_distort", RandomImages({20, 9, 9, 3}), {});
  ExpectDrawsForEachImage("photometric_distort", RandomImages({20, 9, 9, 1}), {});
}

TEST(PhotometricDistortOp, Refuses) {
  const SlotTensors x = {{"X", RandomImages({1, 3, 3, 3})}};
  ExpectRefused("'p' is 2", "photometric_distort", x, {"Out"}, {{"p", 2.0f}});
  ExpectRefused("'hue' goes from -1", "photometric_distort", x, {"Out"}, {{"hue", Floats{1}}});
  ExpectRefused("'contrast' begins at -1", "photometric_distort", x, {"Out"},
                {{"contrast", Floats{-1, 2}}});
}

}  // namespace
}  // namespace millhopper
