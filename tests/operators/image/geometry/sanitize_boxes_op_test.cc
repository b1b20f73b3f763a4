// SPDX-License-Identifier: Apache-2.0
// sanitize_boxes.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Floats = std::vector<float>;

LoDTensor WithLod(LoDTensor tensor, const std::vector<std::vector<uint64_t>>& levels) {
  Lod lod;
  for (const auto& level : levels) lod.emplace_back(level.begin(), level.end());
  tensor.set_lod(lod);
  return tensor;
}

LoDTensor Image(int64_t images) {
  return MakeTensor<uint8_t>({images, 10, 20, 1}, std::vector<uint8_t>(200 * images));
}

RunOpOptions ByValues() {
  RunOpOptions options;
  options.dims_by_values = true;
  return options;
}

TEST(SanitizeBoxesOp, ClipsAndLeavesOutWhatBelongsToABox) {
  // Images with three boxes, none and one.
  const LoDTensor boxes =
      WithLod(MakeTensor<float>({4, 4}, {-5, 2, 5, 4, 30, 2, 40, 4, 1, 1, 2, 2, 18, 8, 22, 12}),
              {{0, 3, 3, 4}});
  const LoDTensor labels = WithLod(MakeTensor<int64_t>({4}, {7, 8, 9, 10}), {{0, 3, 3, 4}});
  // A polygon for each box, of 2, 1, 3 and 2 corners.
  const LoDTensor polygons =
      WithLod(MakeTensor<float>({8, 2}, {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7}),
              {{0, 3, 3, 4}, {0, 2, 3, 6, 8}});
  const auto made = RunOp("sanitize_boxes", {{"X", Image(3)}, {"Boxes", boxes}, {"With", polygons}},
                          {"OutBoxes", "OutWith"}, {}, ByValues());
  EXPECT_EQ(ValuesOf<float>(made.at("OutBoxes")), (Floats{0, 2, 5, 4, 1, 1, 2, 2, 18, 8, 20, 10}));
  EXPECT_EQ(ToString(made.at("OutBoxes").lod()),
            ToString(WithLod(made.at("OutBoxes"), {{0, 2, 2, 3}}).lod()));
  EXPECT_EQ(ValuesOf<float>(made.at("OutWith")),
            (Floats{0, 0, 1, 1, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7}));
  EXPECT_EQ(ToString(made.at("OutWith").lod()),
            ToString(WithLod(made.at("OutWith"), {{0, 2, 2, 3}, {0, 2, 5, 7}}).lod()));
  const auto labeled =
      RunOp("sanitize_boxes", {{"X", Image(3)}, {"Boxes", boxes}, {"With", labels}},
            {"OutBoxes", "OutWith"}, {{"min_size", 1.5f}}, ByValues());
  EXPECT_EQ(ValuesOf<int64_t>(labeled.at("OutWith")), (std::vector<int64_t>{7, 10}));
}

TEST(SanitizeBoxesOp, LimitsAreOfWhatIsLeft) {
  const auto left = [](const Floats& box, const Attributes& attributes) {
    const LoDTensor boxes = MakeTensor<float>({1, 4}, box);
    return RunOp("sanitize_boxes", {{"X", Image(1)}, {"Boxes", boxes}}, {"OutBoxes"}, attributes,
                 ByValues())
               .at("OutBoxes")
               .rows() == 1;
  };
  EXPECT_TRUE(left({-5, 0, 5, 4}, {{"min_visibility", 0.5f}}));
  EXPECT_FALSE(left({-5.1f, 0, 5, 4}, {{"min_visibility", 0.5f}}));
  EXPECT_TRUE(left({0, 0, 3, 4}, {{"min_area", 12.0f}}));
  EXPECT_FALSE(left({0, 0, 3, 3.9f}, {{"min_area", 12.0f}}));
  EXPECT_TRUE(left({0, 0, 3, 4}, {{"min_size", 3.0f}}));
  EXPECT_FALSE(left({0, 0, 2.9f, 4}, {{"min_size", 3.0f}}));
  const Attributes none = {{"min_size", 0.0f}, {"min_area", 0.0f}};
  EXPECT_FALSE(left({2, 2, 2, 4}, none));
  EXPECT_FALSE(left({3, 2, 2, 4}, none));
  for (const float odd : {NAN, INFINITY, -INFINITY}) {
    for (size_t i = 0; i < 4; ++i) {
      Floats box = {1, 1, 3, 3};
      box[i] = odd;
      EXPECT_FALSE(left(box, none)) << odd << " " << i;
    }
  }
}

TEST(SanitizeBoxesOp, ReadsNotations) {
  const auto made = RunOp(
      "sanitize_boxes", {{"X", Image(1)}, {"Boxes", MakeTensor<double>({1, 4}, {0, 0.5, 0.5, 1})}},
      {"OutBoxes"}, {{"box_format", std::string("cxcywh")}, {"relative", true}}, ByValues());
  EXPECT_EQ(ValuesOf<double>(made.at("OutBoxes")), (std::vector<double>{0.125, 0.5, 0.25, 1}));
}

TEST(SanitizeBoxesOp, RefusesWhatDoesNotFit) {
  const LoDTensor boxes = MakeTensor<float>({1, 4}, {1, 1, 3, 3});
  ExpectRefused("it needs a row, or a sequence, for each of the 1 boxes", "sanitize_boxes",
                {{"X", Image(1)}, {"Boxes", boxes}, {"With", MakeTensor<float>({2}, {1, 2})}},
                {"OutBoxes", "OutWith"});
  ExpectRefused("there are 2 images", "sanitize_boxes", {{"X", Image(2)}, {"Boxes", boxes}},
                {"OutBoxes"});
  ExpectRefused("there are 0 images", "sanitize_boxes", {{"X", Image(0)}, {"Boxes", boxes}},
                {"OutBoxes"});
  ExpectRefused("attribute 'min_visibility' is 1.5", "sanitize_boxes",
                {{"X", Image(1)}, {"Boxes", boxes}}, {"OutBoxes"}, {{"min_visibility", 1.5f}});
}

}  // namespace
}  // namespace millhopper
