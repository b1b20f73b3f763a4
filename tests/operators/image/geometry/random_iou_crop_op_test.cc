// SPDX-License-Identifier: Apache-2.0
// random_iou_crop and random_zoom_out. That they equal torchvision's is in
// tests/python/images/test_detection.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Floats = std::vector<float>;

constexpr int64_t kCroppedHeight = 40, kCroppedWidth = 50;

// Pixel (x, y) is y * kCroppedWidth + x, so that a part tells where it lies.
LoDTensor Image() {
  std::vector<float> values(kCroppedHeight * kCroppedWidth);
  std::iota(values.begin(), values.end(), 0.0f);
  return MakeTensor<float>({1, kCroppedHeight, kCroppedWidth, 1}, values);
}

LoDTensor Boxes(const Floats& values) {
  return MakeTensor<float>({static_cast<int64_t>(values.size() / 4), 4}, values);
}

const Floats kBoxes = {5, 5, 15, 15, 30, 20, 45, 38, 0, 30, 6, 40};

std::map<std::string, LoDTensor> Moved(const std::string& type, uint64_t seed,
                                       const Attributes& attributes = {},
                                       const Floats& boxes = kBoxes) {
  RunOpOptions options;
  options.seed = seed;
  options.dims_by_values = true;
  return RunOp(type, {{"X", Image()}, {"Masks", Image()}, {"Boxes", Boxes(boxes)}},
               {"Out", "OutMasks", "OutBoxes"}, attributes, options);
}

struct Part {
  int64_t x, y, width, height;
};

Part PartOf(const LoDTensor& image) {
  const auto first = static_cast<int64_t>(ValuesOf<float>(image).front());
  return {first % kCroppedWidth, first / kCroppedWidth, image.dims()[2], image.dims()[1]};
}

TEST(RandomIouCropOp, KeepsBoxesWhoseMiddleIsInside) {
  int whole = 0, left_out = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const auto made = Moved("random_iou_crop", seed);
    const Part part = PartOf(made.at("Out"));
    EXPECT_EQ(ValuesOf<float>(made.at("OutMasks")), ValuesOf<float>(made.at("Out")));
    const double ratio = static_cast<double>(part.width) / static_cast<double>(part.height);
    EXPECT_TRUE(ratio >= 0.5 && ratio <= 2);
    EXPECT_TRUE(part.width >= 15 && part.height >= 12);
    const bool is_whole = part.width == kCroppedWidth && part.height == kCroppedHeight;
    whole += is_whole ? 1 : 0;
    const Floats boxes = ValuesOf<float>(made.at("OutBoxes"));
    int kept = 0;
    for (size_t i = 0; i < 3; ++i) {
      const float* const box = kBoxes.data() + 4 * i;
      const float x = (box[0] + box[2]) / 2, y = (box[1] + box[3]) / 2;
      const bool inside = x > static_cast<float>(part.x) && y > static_cast<float>(part.y) &&
                          x < static_cast<float>(part.x + part.width) &&
                          y < static_cast<float>(part.y + part.height);
      kept += inside ? 1 : 0;
      const Floats wanted =
          inside ? Floats{box[0] - part.x, box[1] - part.y, box[2] - part.x, box[3] - part.y}
                 : Floats(4);
      EXPECT_EQ(Floats(boxes.begin() + 4 * i, boxes.begin() + 4 * i + 4), wanted);
    }
    EXPECT_GT(kept, 0);
    left_out += 3 - kept;
  }
  EXPECT_TRUE(whole > 30 && whole < 150) << whole;  // one of seven options, or none that fits
  EXPECT_GT(left_out, 50);
}

TEST(RandomIouCropOp, LeavesAnImageAsItIs) {
  for (const Attributes& attributes :
       std::vector<Attributes>{{{"min_overlaps", Floats{1.0f}}},
                               // No part has that much of a small box, and 100 options have an end.
                               {{"min_overlaps", Floats{0.99f}}, {"trials", int32_t{2}}}}) {
    const auto made = Moved("random_iou_crop", 3, attributes);
    EXPECT_EQ(ValuesOf<float>(made.at("Out")), ValuesOf<float>(Image()));
    EXPECT_EQ(ValuesOf<float>(made.at("OutBoxes")), kBoxes);
  }
  const auto made = Moved("random_iou_crop", 3, {}, {});
  EXPECT_EQ(ValuesOf<float>(made.at("Out")), ValuesOf<float>(Image()));
}

TEST(RandomIouCropOp, RefusesWhatCannotBe) {
  const auto refused = [](const std::string& words, const Attributes& attributes) {
    ExpectRefused(words, "random_iou_crop", {{"X", Image()}, {"Boxes", Boxes(kBoxes)}},
                  {"Out", "OutBoxes"}, attributes);
  };
  refused("attribute 'scale'", {{"scale", Floats{0.0f, 1.0f}}});
  refused("attribute 'scale'", {{"scale", Floats{0.5f, 2.0f}}});
  refused("attribute 'ratio'", {{"ratio", Floats{2.0f, 1.0f}}});
  refused("attribute 'min_overlaps' is empty", {{"min_overlaps", Floats{}}});
  ExpectRefused("one argument of input 'Boxes'", "random_iou_crop", {{"X", Image()}}, {"Out"});
}

TEST(RandomZoomOutOp, PutsAnImageOnALargerOne) {
  int zoomed = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const auto made = Moved("random_zoom_out", seed, {{"fill", Floats{-1.0f}}, {"mask_fill", 9}});
    const LoDTensor& image = made.at("Out");
    const int64_t height = image.dims()[1], width = image.dims()[2];
    EXPECT_TRUE(height >= kCroppedHeight && height <= 4 * kCroppedHeight);
    EXPECT_TRUE(width >= kCroppedWidth && width <= 4 * kCroppedWidth);
    zoomed += height > kCroppedHeight || width > kCroppedWidth ? 1 : 0;
    const Floats pixels = ValuesOf<float>(image);
    const auto first = std::find_if(pixels.begin(), pixels.end(), [](float v) { return v >= 0; });
    const auto place = static_cast<int64_t>(first - pixels.begin());
    const int64_t left = place % width, top = place / width;
    const Floats masks = ValuesOf<float>(made.at("OutMasks"));
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x) {
        const bool is_new =
            x < left || y < top || x >= left + kCroppedWidth || y >= top + kCroppedHeight;
        const auto given = static_cast<float>((y - top) * kCroppedWidth + x - left);
        ASSERT_EQ(pixels[static_cast<size_t>(y * width + x)], is_new ? -1 : given);
        ASSERT_EQ(masks[static_cast<size_t>(y * width + x)], is_new ? 9 : given);
      }
    }
    Floats wanted = kBoxes;
    for (size_t i = 0; i < wanted.size(); ++i) wanted[i] += static_cast<float>(i % 2 ? top : left);
    EXPECT_EQ(ValuesOf<float>(made.at("OutBoxes")), wanted);
  }
  EXPECT_TRUE(zoomed > 70 && zoomed < 130) << zoomed;
}

TEST(RandomZoomOutOp, RefusesWhatCannotBe) {
  const auto refused = [](const std::string& words, const Attributes& attributes) {
    ExpectRefused(words, "random_zoom_out", {{"X", Image()}}, {"Out"}, attributes);
  };
  refused("attribute 'side_range'", {{"side_range", Floats{0.5f, 2.0f}}});
  refused("attribute 'side_range'", {{"side_range", Floats{1.0f, 1e9f}}});
  refused("attribute 'p' is 2", {{"p", 2.0f}});
  refused("attribute 'fill' has 5 values", {{"fill", Floats(5)}});
  refused("attribute 'fill' has 3 values, and images have 1 channels", {{"fill", Floats(3)}});
}

}  // namespace
}  // namespace millhopper
