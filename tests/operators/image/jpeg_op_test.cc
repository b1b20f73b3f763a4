// SPDX-License-Identifier: Apache-2.0
// jpeg.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <vector>

#include "tests/operators/image/image_checks.h"

namespace millhopper {
namespace {

using Bytes = std::vector<uint8_t>;

LoDTensor Compressed(const LoDTensor& images, const std::vector<int32_t>& quality) {
  return RunImageOp("jpeg", images, {{"quality", quality}});
}

// How far values are from those of the images, on average.
double Loss(const LoDTensor& images, int32_t quality) {
  const Bytes before = ValuesOf<uint8_t>(images);
  const Bytes after = ValuesOf<uint8_t>(Compressed(images, {quality}));
  double sum = 0;
  for (size_t v = 0; v < before.size(); ++v) sum += std::abs(before[v] - after[v]);
  return sum / static_cast<double>(before.size());
}

TEST(JpegOp, LosesMoreByALowerQuality) {
  for (const int64_t channels : {1, 3}) {
    const LoDTensor images = SmoothImages({2, 33, 41, channels});
    EXPECT_LT(Loss(images, 100), 4);
    EXPECT_LT(Loss(images, 100), Loss(images, 60));
    EXPECT_LT(Loss(images, 60), Loss(images, 10));
    EXPECT_LT(Loss(images, 10), Loss(images, 1));
  }
  // Whole blocks of one gray are exact.
  const LoDTensor gray = MakeTensor<uint8_t>({1, 16, 8, 1}, Bytes(128, 128));
  EXPECT_EQ(ValuesOf<uint8_t>(Compressed(gray, {5})), Bytes(128, 128));
}

TEST(JpegOp, DrawsTheQuality) {
  constexpr int64_t kImages = 60;
  const Bytes one = ValuesOf<uint8_t>(RandomImages({1, 9, 17, 3}));
  Bytes all;
  for (int64_t i = 0; i < kImages; ++i) all.insert(all.end(), one.begin(), one.end());
  const LoDTensor images = MakeTensor<uint8_t>({kImages, 9, 17, 3}, all);
  const Bytes made = ValuesOf<uint8_t>(Compressed(images, {20, 23}));
  const RandomKey key = ImageOpKey();
  std::map<uint64_t, int> seen;
  for (size_t i = 0; i < kImages; ++i) {
    const uint64_t quality = 20 + key.Below(4, i, 0);
    ++seen[quality];
    EXPECT_EQ(Bytes(made.begin() + static_cast<int64_t>(i * one.size()),
                    made.begin() + static_cast<int64_t>((i + 1) * one.size())),
              ValuesOf<uint8_t>(Compressed(MakeTensor<uint8_t>({1, 9, 17, 3}, one),
                                           {static_cast<int32_t>(quality)})));
  }
  EXPECT_EQ(seen.size(), 4u);
  ExpectDrawsForEachImage("jpeg", RandomImages({8, 9, 17, 3}),
                          {{"quality", std::vector<int32_t>{1, 100}}});
}

TEST(JpegOp, TakesImagesOfAnySize) {
  for (const Dims& dims : {Dims{1, 1, 1, 1}, Dims{1, 1, 1, 3}, Dims{1, 500, 1, 3}, Dims{2, 0, 3, 3},
                           Dims{1, 300, 700, 3}, Dims{0, 4, 4, 1}}) {
    EXPECT_EQ(Compressed(RandomImages(dims), {90}).dims(), dims);
  }
}

TEST(JpegOp, Refuses) {
  const auto refused = [](const std::string& words, const std::vector<int32_t>& quality) {
    ExpectRefused(words, "jpeg", {{"X", RandomImages({1, 3, 3, 3})}}, {"Out"},
                  {{"quality", quality}});
  };
  refused("'quality' asks for 0 to 0", {0});
  refused("'quality' asks for 50 to 40", {50, 40});
  refused("'quality' asks for 50 to 101", {50, 101});
  refused("'quality' has 3 values", {1, 2, 3});
  ExpectRefused("at most 65500 pixels each way", "jpeg",
                {{"X", MakeTensor<uint8_t>({1, 1, 65501, 1}, Bytes(65501, 1))}}, {"Out"},
                {{"quality", std::vector<int32_t>{50}}});
}

}  // namespace
}  // namespace millhopper
