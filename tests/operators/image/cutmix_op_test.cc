// SPDX-License-Identifier: Apache-2.0
// cutmix.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "operators/image/batch_mix.h"
#include "tests/operators/image/image_checks.h"

namespace millhopper {
namespace {

TEST(CutmixOp, TakesARectangleOfTheImageBefore) {
  constexpr int64_t kHeight = 8;
  constexpr int64_t kWidth = 12;
  const LoDTensor x = RandomImages({3, kHeight, kWidth, 2});
  int moved = 0;
  for (int32_t seed = 0; seed < 20; ++seed) {
    const auto out = RunOp("cutmix", {{"X", x}, {"Label", MakeTensor<int64_t>({3, 1}, {2, 0, 1})}},
                           {"Out", "LabelOut"}, {{"num_classes", int64_t{3}}, {"seed", seed}});
    const RandomKey key = ImageOpKey(0, static_cast<uint64_t>(seed));
    const double part = std::sqrt(1 - DrawLambda(key, 1)) / 2;
    const auto middle_x = static_cast<int64_t>(key.Below(kWidth, 2, 0));
    const auto middle_y = static_cast<int64_t>(key.Below(kHeight, 2, 1));
    const auto across = static_cast<int64_t>(std::floor(part * kWidth));
    const auto down = static_cast<int64_t>(std::floor(part * kHeight));
    int replaced = 0;
    for (int64_t i = 0; i < 3; ++i) {
      for (int64_t row = 0; row < kHeight; ++row) {
        for (int64_t column = 0; column < kWidth; ++column) {
          const bool taken = row >= middle_y - down && row < middle_y + down &&
                             column >= middle_x - across && column < middle_x + across;
          replaced += taken && i == 0;
          const int64_t from = taken ? (i + 2) % 3 : i;
          for (int64_t c = 0; c < 2; ++c) {
            EXPECT_EQ(
                out.at("Out").data<uint8_t>()[((i * kHeight + row) * kWidth + column) * 2 + c],
                x.data<uint8_t>()[((from * kHeight + row) * kWidth + column) * 2 + c]);
          }
        }
      }
    }
    moved += replaced;
    const float other = static_cast<float>(replaced) / (kHeight * kWidth);
    const Floats labels = {0, other, 1 - other, 1 - other, 0, other, other, 1 - other, 0};
    const auto mixed = ValuesOf<float>(out.at("LabelOut"));
    // The first image is of class 2 and takes from the last, of class 1, and so on.
    for (size_t k = 0; k < labels.size(); ++k) EXPECT_NEAR(mixed[k], labels[k], 1e-6) << k;
  }
  EXPECT_GT(moved, 100);
}

TEST(CutmixOp, TakesEitherLayout) {
  const LoDTensor x = RandomImages({3, 8, 12, 2});
  const LoDTensor planar = ChannelsFirst(x);
  for (int32_t seed = 0; seed < 20; ++seed) {
    const auto mixed = [&](const LoDTensor& images) {
      return RunOp("cutmix", {{"X", images}, {"Label", MakeTensor<int64_t>({3, 1}, {2, 0, 1})}},
                   {"Out", "LabelOut"}, {{"num_classes", int64_t{3}}, {"seed", seed}});
    };
    const auto wanted = mixed(x);
    const auto found = mixed(planar);
    EXPECT_EQ(found.at("Out").dims(), planar.dims());
    EXPECT_EQ(ValuesOf<uint8_t>(found.at("Out")),
              ValuesOf<uint8_t>(ChannelsFirst(wanted.at("Out"))));
    EXPECT_EQ(ValuesOf<float>(found.at("LabelOut")), ValuesOf<float>(wanted.at("LabelOut")));
  }
}

TEST(CutmixOp, Refuses) {
  ExpectRefused("it must be int64 [1] or [1, 1]", "cutmix",
                {{"X", RandomImages({1, 2, 2, 3})}, {"Label", MakeTensor<float>({1, 1}, {0})}},
                {"Out", "LabelOut"}, {{"num_classes", int64_t{3}}});
  ExpectRefused(
      "images are uint8, uint16 or float32", "cutmix",
      {{"X", MakeTensor<float>({1, 2}, {1, 2})}, {"Label", MakeTensor<int64_t>({1, 1}, {0})}},
      {"Out", "LabelOut"}, {{"num_classes", int64_t{3}}});
}

}  // namespace
}  // namespace millhopper
