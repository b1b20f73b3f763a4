// SPDX-License-Identifier: Apache-2.0
// Masks, boxes and points that operators move with images.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/operators/image/image_checks.h"
#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Outputs = std::map<std::string, LoDTensor>;

struct Case {
  std::string type;
  Attributes attributes;
};

// Every operator that moves pixels, for images of 40 x 60.
std::vector<Case> Cases() {
  const std::vector<int32_t> size = {24, 32};
  return {{"crop", {{"size", size}, {"top", int32_t{5}}, {"left", int32_t{7}}}},
          {"center_crop", {{"size", size}}},
          {"random_crop", {{"size", size}}},
          {"resize", {{"size", std::vector<int32_t>{80, 30}}}},
          {"random_resized_crop", {{"size", size}}},
          {"flip", {{"p", 0.5f}}},
          {"flip", {{"p", 0.5f}, {"axis", std::string("vertical")}}},
          {"pad", {{"padding", std::vector<int32_t>{1, 2, 3, 4}}}},
          {"rotate", {{"degrees", Floats{30}}, {"interpolation", std::string("bilinear")}}},
          {"perspective", {{"distortion_scale", 0.6f}, {"interpolation", std::string("bilinear")}}},
          {"affine",
           {{"degrees", Floats{20}},
            {"translate", Floats{0.1f, 0.2f}},
            {"scale", Floats{0.7f, 1.3f}},
            {"shear", Floats{10}}}}};
}

constexpr int64_t kImages = 6, kHeight = 40, kWidth = 60;

// Masks of one class each 8 x 8 pixels, 1 and up; 0 is left for what lies outside.
LoDTensor Blocks() {
  std::vector<uint8_t> values;
  for (int64_t i = 0; i < kImages; ++i) {
    for (int64_t y = 0; y < kHeight; ++y) {
      for (int64_t x = 0; x < kWidth; ++x) {
        values.push_back(static_cast<uint8_t>(1 + y / 8 * 8 + x / 8));
      }
    }
  }
  return MakeTensor<uint8_t>({kImages, kHeight, kWidth, 1}, values);
}

// The middles of the blocks that are whole, three an image.
std::vector<float> Middles() {
  std::vector<float> places;
  for (int64_t i = 0; i < kImages; ++i) places.insert(places.end(), {12, 12, 28, 20, 44, 12});
  return places;
}

std::string Values(const LoDTensor& tensor) {
  return std::string(static_cast<const char*>(tensor.raw_data()), tensor.bytes());
}

// A place in pixels after it has moved by image i of Matrix.
std::pair<double, double> Moved(const LoDTensor& matrix, int64_t i, double x, double y) {
  const int64_t numbers = 3 * matrix.dims()[1];
  const double* const m = matrix.data<double>() + numbers * i;
  const double w = numbers == 9 ? m[6] * x + m[7] * y + m[8] : 1;
  return {(m[0] * x + m[1] * y + m[2]) / w, (m[3] * x + m[4] * y + m[5]) / w};
}

TEST(MovedTogether, MasksAndPointsGoWhereTheImageGoes) {
  const LoDTensor masks = Blocks();
  const std::vector<float> middles = Middles();
  const LoDTensor points = MakeTensor<float>({kImages, 3, 2}, middles);
  for (const auto& [type, attributes] : Cases()) {
    SCOPED_TRACE(type);
    const Outputs made = RunOp(
        type,
        {{"X", SmoothImages({kImages, kHeight, kWidth, 3})}, {"Masks", masks}, {"Points", points}},
        {"Out", "OutMasks", "OutPoints", "Matrix"}, attributes, {{}, 5});
    const LoDTensor& out = made.at("OutMasks");
    EXPECT_EQ(made.at("Out").dims()[1], out.dims()[1]);
    EXPECT_EQ(made.at("Out").dims()[2], out.dims()[2]);
    const std::vector<float> places = ValuesOf<float>(made.at("OutPoints"));
    const std::vector<uint8_t> classes = ValuesOf<uint8_t>(out);
    int seen = 0;
    for (int64_t i = 0; i < kImages; ++i) {
      for (int64_t k = 3 * i; k < 3 * i + 3; ++k) {
        const auto at = static_cast<size_t>(2 * k);
        const auto [x, y] =
            Moved(made.at("Matrix"), i, double{middles[at]}, double{middles[at + 1]});
        EXPECT_FLOAT_EQ(places[at], static_cast<float>(x));
        EXPECT_FLOAT_EQ(places[at + 1], static_cast<float>(y));
        if (x < 0 || y < 0 || x >= static_cast<double>(out.dims()[2]) ||
            y >= static_cast<double>(out.dims()[1])) {
          continue;
        }
        ++seen;
        // The middle of a block is of its class wherever it goes.
        const int64_t row = static_cast<int64_t>(y), column = static_cast<int64_t>(x);
        const uint8_t expected = static_cast<uint8_t>(
            1 + static_cast<int>(middles[at + 1]) / 8 * 8 + static_cast<int>(middles[at]) / 8);
        EXPECT_EQ(classes[static_cast<size_t>((i * out.dims()[1] + row) * out.dims()[2] + column)],
                  expected);
      }
    }
    EXPECT_GE(seen, 6);
  }
}

// A mask is what an image is that is moved with nearest.
TEST(MovedTogether, DrawsAreThoseOfTheImageAlone) {
  const LoDTensor x = SmoothImages({kImages, kHeight, kWidth, 3});
  const LoDTensor masks = Blocks();
  for (const auto& [type, attributes] : Cases()) {
    SCOPED_TRACE(type);
    const LoDTensor alone = RunOp(type, {{"X", x}}, {"Out"}, attributes, {{}, 5}).at("Out");
    const Outputs both =
        RunOp(type, {{"X", x}, {"Masks", masks}}, {"Out", "OutMasks"}, attributes, {{}, 5});
    EXPECT_TRUE(Values(both.at("Out")) == Values(alone));
    Attributes nearest;
    for (const auto& attribute : attributes) {
      if (attribute.first != "interpolation") nearest.push_back(attribute);
    }
    if (type == "resize" || type == "random_resized_crop" || type == "rotate" || type == "affine" ||
        type == "perspective" || type == "scale_jitter" || type == "random_shortest_size") {
      nearest.emplace_back("interpolation", std::string("nearest"));
    }
    EXPECT_TRUE(Values(both.at("OutMasks")) ==
                Values(RunOp(type, {{"X", masks}}, {"Out"}, nearest, {{}, 5}).at("Out")));
  }
}

TEST(MovedTogether, OutputsMayBeInputs) {
  const SlotTensors inputs = {{"X", SmoothImages({1, kHeight, kWidth, 3})},
                              {"Masks", SmoothImages({1, kHeight, kWidth, 1})},
                              {"Boxes", MakeTensor<float>({1, 4}, {9, 9, 19, 29})}};
  const std::vector<std::string> outputs = {"Out", "OutMasks", "OutBoxes"};
  const Attributes crop = {{"size", std::vector<int32_t>{8, 9}}, {"top", int32_t{3}}};
  const Outputs apart = RunOp("crop", inputs, outputs, crop);
  const std::map<std::string, std::string> own = {
      {"Out", "X"}, {"OutMasks", "Masks"}, {"OutBoxes", "Boxes"}};
  const std::map<std::string, std::string> others = {{"Out", "Masks"}, {"OutMasks", "X"}};
  for (const auto& in_place : {own, others}) {
    const Outputs made = RunOp("crop", inputs, outputs, crop, {in_place, 0});
    for (const std::string& output : outputs) {
      EXPECT_TRUE(Values(apart.at(output)) == Values(made.at(output))) << output;
    }
  }
}

LoDTensor Boxes(const std::vector<float>& values, const std::vector<uint64_t>& offsets) {
  LoDTensor boxes = MakeTensor<float>({static_cast<int64_t>(values.size() / 4), 4}, values);
  if (!offsets.empty()) boxes.set_lod({LodLevel(offsets.begin(), offsets.end())});
  return boxes;
}

TEST(MovedTogether, BoxesAreAroundTheirCorners) {
  const std::vector<float> given = {4, 6, 20, 30, 0, 0, 60, 40, 30, 10, 31, 11};
  const LoDTensor boxes = Boxes(given, {0, 1, 1, 3, 3, 3, 3});
  for (const auto& [type, attributes] : Cases()) {
    SCOPED_TRACE(type);
    const Outputs made = RunOp(type, {{"X", Blocks()}, {"Boxes", boxes}},
                               {"Out", "OutBoxes", "Matrix"}, attributes, {{}, 9});
    EXPECT_EQ(made.at("OutBoxes").lod(), boxes.lod());
    const std::vector<float> out = ValuesOf<float>(made.at("OutBoxes"));
    const int64_t image_of[] = {0, 2, 2};
    for (size_t k = 0; k < 3; ++k) {
      double least[] = {1e9, 1e9}, most[] = {-1e9, -1e9};
      for (const size_t right : {0, 2}) {
        for (const size_t bottom : {1, 3}) {
          const auto [x, y] = Moved(made.at("Matrix"), image_of[k], double{given[4 * k + right]},
                                    double{given[4 * k + bottom]});
          least[0] = std::min(least[0], x), least[1] = std::min(least[1], y);
          most[0] = std::max(most[0], x), most[1] = std::max(most[1], y);
        }
      }
      EXPECT_NEAR(double{out[4 * k]}, least[0], 1e-4);
      EXPECT_NEAR(double{out[4 * k + 1]}, least[1], 1e-4);
      EXPECT_NEAR(double{out[4 * k + 2]}, most[0], 1e-4);
      EXPECT_NEAR(double{out[4 * k + 3]}, most[1], 1e-4);
    }
  }
}

TEST(MovedTogether, NotationsSayTheSame) {
  const LoDTensor image = SmoothImages({1, kHeight, kWidth, 3});
  const LoDTensor boxes = Boxes({6, 10, 30, 20}, {});
  const Attributes flip = {{"p", 1.0f}};
  const auto moved = [&](const LoDTensor& given, const Attributes& notation) {
    Attributes attributes = flip;
    attributes.insert(attributes.end(), notation.begin(), notation.end());
    return ValuesOf<float>(
        RunOp("flip", {{"X", image}, {"Boxes", given}}, {"Out", "OutBoxes"}, attributes)
            .at("OutBoxes"));
  };
  EXPECT_EQ(moved(boxes, {}), (Floats{30, 10, 54, 20}));
  EXPECT_EQ(moved(Boxes({6, 10, 24, 10}, {}), {{"box_format", std::string("xywh")}}),
            (Floats{30, 10, 24, 10}));
  EXPECT_EQ(moved(Boxes({18, 15, 24, 10}, {}), {{"box_format", std::string("cxcywh")}}),
            (Floats{42, 15, 24, 10}));
  EXPECT_EQ(moved(Boxes({0.3f, 0.375f, 0.4f, 0.25f}, {}),
                  {{"box_format", std::string("cxcywh")}, {"relative", true}}),
            (Floats{0.7f, 0.375f, 0.4f, 0.25f}));
}

TEST(MovedTogether, FillsMasksWithTheirOwnValue) {
  const LoDTensor image = MakeTensor<uint8_t>({1, 1, 1, 1}, {7});
  const Outputs made =
      RunOp("pad", {{"X", image}, {"Masks", image}}, {"Out", "OutMasks"},
            {{"padding", std::vector<int32_t>{1}}, {"fill", 3.0f}, {"mask_fill", int32_t{255}}});
  EXPECT_EQ(ValuesOf<uint8_t>(made.at("Out")), (std::vector<uint8_t>{3, 3, 3, 3, 7, 3, 3, 3, 3}));
  EXPECT_EQ(ValuesOf<uint8_t>(made.at("OutMasks")),
            (std::vector<uint8_t>{255, 255, 255, 255, 7, 255, 255, 255, 255}));
}

TEST(MovedTogether, RefusesWhatDoesNotBelongTogether) {
  const LoDTensor x = SmoothImages({2, kHeight, kWidth, 3});
  const Attributes flip = {{"p", 1.0f}};
  ExpectRefused("input 'Masks' (variable 'masks_variable') is uint8 [2, 40, 61, 1]; ", "flip",
                {{"X", x}, {"Masks", SmoothImages({2, kHeight, kWidth + 1, 1})}},
                {"Out", "OutMasks"}, flip);
  ExpectRefused("input 'Masks' has 0 arguments and output 'OutMasks' 1", "flip", {{"X", x}},
                {"Out", "OutMasks"}, flip);
  ExpectRefused("is float32 [3, 4]; there are 2 images", "flip",
                {{"X", x}, {"Boxes", Boxes({1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}, {})}},
                {"Out", "OutBoxes"}, flip);
  ExpectRefused("boxes are float32 or float64 [n, 4]", "flip",
                {{"X", x}, {"Boxes", MakeTensor<int64_t>({1, 4}, {1, 2, 3, 4})}},
                {"Out", "OutBoxes"}, flip);
  ExpectRefused("points are float32 or float64 [.., 2]", "flip",
                {{"X", x}, {"Points", MakeTensor<float>({2}, {1, 2})}}, {"Out", "OutPoints"}, flip);
  ExpectRefused("attribute 'mask_fill' is 256", "rotate", {{"X", x}}, {"Out"},
                {{"degrees", Floats{3}}, {"mask_fill", int32_t{256}}});
}

}  // namespace
}  // namespace millhopper
