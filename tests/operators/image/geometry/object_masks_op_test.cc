// SPDX-License-Identifier: Apache-2.0
// object_masks: polygons as pycocotools 2.0.11 decodes them, runs, masks of classes.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Doubles = std::vector<double>;
using Levels = std::vector<std::vector<uint64_t>>;

LoDTensor WithLod(LoDTensor tensor, const Levels& levels) {
  Lod lod;
  for (const auto& level : levels) lod.emplace_back(level.begin(), level.end());
  tensor.set_lod(lod);
  return tensor;
}

LoDTensor Images(int64_t images, int64_t height, int64_t width) {
  const auto pixels = static_cast<size_t>(images * height * width);
  return MakeTensor<uint8_t>({images, height, width, 1}, std::vector<uint8_t>(pixels));
}

// The objects of one image, which have one polygon each.
LoDTensor Polygons(const std::vector<Doubles>& polygons) {
  Doubles values;
  Levels levels = {{0, polygons.size()}, {0}, {0}};
  for (const Doubles& polygon : polygons) {
    values.insert(values.end(), polygon.begin(), polygon.end());
    levels[1].push_back(levels[1].back() + 1);
    levels[2].push_back(values.size() / 2);
  }
  return WithLod(MakeTensor<double>({static_cast<int64_t>(values.size() / 2), 2}, values), levels);
}

RunOpOptions ByValues() {
  RunOpOptions options;
  options.dims_by_values = true;
  return options;
}

LoDTensor MasksOf(const SlotTensors& inputs, const Attributes& attributes = {}) {
  return RunOp("object_masks", inputs, {"Out"}, attributes, ByValues()).at("Out");
}

// The pixels of image 0, 1 and so on below one another.
std::string Drawn(const LoDTensor& masks) {
  std::string text;
  const int64_t width = masks.dims()[2];
  int64_t x = 0;
  for (const uint8_t value : ValuesOf<uint8_t>(masks)) {
    text += value == 0 ? '.' : value == 1 ? '#' : static_cast<char>('0' + value % 10);
    if (++x % width == 0) text += '\n';
  }
  return text;
}

TEST(ObjectMasksOp, PolygonsAreThoseOfPycocotools) {
  const LoDTensor masks = MasksOf({{"X", Images(1, 8, 11)},
                                   {"Polygons", Polygons({{2.3, 1.1, 9.7, 3.4, 5.2, 7.9},
                                                          {-3, -2.5, 4.4, 0.4, 12, 9.2, 1, 11.5},
                                                          {0.5, 0.5, 6.5, 0.5, 6.5, 4.5, 0.5, 4.5},
                                                          {7, 2, 7, 8, 7.1, 8.3}})}});
  EXPECT_EQ(masks.dims(), (Dims{4, 8, 11, 1}));
  EXPECT_EQ(ToString(masks.lod()), ToString(WithLod(masks, {{0, 4}}).lod()));
  EXPECT_EQ(Drawn(masks),
            "...........\n...#.......\n...####....\n...#######.\n"
            "....#####..\n....####...\n.....##....\n.....#.....\n"
            "#####......\n#####......\n######.....\n#######....\n"
            "########...\n#########..\n##########.\n###########\n"
            "...........\n.######....\n.######....\n.######....\n"
            ".######....\n...........\n...........\n...........\n"
            "...........\n...........\n...........\n...........\n"
            "...........\n...........\n...........\n...........\n");
}

TEST(ObjectMasksOp, RunsGoColumnAfterColumn) {
  const LoDTensor runs =
      WithLod(MakeTensor<uint32_t>({7}, {3, 6, 3, 0, 2, 9, 1}), {{0, 1, 1, 3}, {0, 3, 7, 7}});
  const LoDTensor masks = MasksOf({{"X", Images(3, 3, 4)}, {"Runs", runs}});
  EXPECT_EQ(ToString(masks.lod()), ToString(WithLod(masks, {{0, 1, 1, 3}}).lod()));
  EXPECT_EQ(Drawn(masks),
            ".##.\n.##.\n.##.\n"
            "#...\n#...\n...#\n"
            "....\n....\n....\n");
}

TEST(ObjectMasksOp, AnObjectMayHaveSeveralPolygonsOrRuns) {
  const LoDTensor polygons =
      WithLod(MakeTensor<float>({8, 2}, {0, 0, 2, 0, 2, 2, 0, 2, 3, 0, 4, 0, 4, 2, 3, 2}),
              {{0, 2}, {0, 2, 2}, {0, 4, 8}});
  const LoDTensor runs = WithLod(MakeTensor<int64_t>({3}, {6, 1, 1}), {{0, 2}, {0, 0, 3}});
  EXPECT_EQ(Drawn(MasksOf({{"X", Images(1, 2, 4)}, {"Polygons", polygons}, {"Runs", runs}})),
            "##.#\n##.#\n"
            "...#\n....\n");
}

TEST(ObjectMasksOp, MakesMasksOfClasses) {
  const LoDTensor polygons = Polygons({{0, 0, 3, 0, 3, 2, 0, 2}, {2, 0, 5, 0, 5, 2, 2, 2}});
  const LoDTensor labels = WithLod(MakeTensor<int64_t>({2}, {7, 4}), {{0, 2}});
  const SlotTensors inputs = {{"X", Images(1, 2, 6)}, {"Polygons", polygons}, {"Labels", labels}};
  const auto classes = [&](Attributes attributes) {
    attributes.emplace_back("kind", std::string("classes"));
    const LoDTensor masks = MasksOf(inputs, attributes);
    EXPECT_EQ(masks.dims(), (Dims{1, 2, 6, 1}));
    EXPECT_TRUE(masks.lod().empty());
    return ValuesOf<uint8_t>(masks);
  };
  EXPECT_EQ(classes({}), (std::vector<uint8_t>{7, 7, 255, 4, 4, 0, 7, 7, 255, 4, 4, 0}));
  EXPECT_EQ(classes({{"overlap", int32_t{-1}}}),
            (std::vector<uint8_t>{7, 7, 7, 4, 4, 0, 7, 7, 7, 4, 4, 0}));
}

TEST(ObjectMasksOp, AnImageMayHaveNoObjects) {
  const LoDTensor polygons = WithLod(MakeTensor<double>({0, 2}, {}), {{0, 0, 0}, {0}, {0}});
  EXPECT_EQ(MasksOf({{"X", Images(2, 3, 3)}, {"Polygons", polygons}}).dims(), (Dims{0, 3, 3, 1}));
}

TEST(ObjectMasksOp, RefusesWhatDoesNotFit) {
  const auto refused = [](const std::string& words, const SlotTensors& inputs,
                          const Attributes& attributes = {}) {
    ExpectRefused(words, "object_masks", inputs, {"Out"}, attributes);
  };
  const auto image = Images(1, 2, 4);
  const auto runs = [&](const std::vector<int64_t>& lengths) {
    const auto n = static_cast<uint64_t>(lengths.size());
    return WithLod(MakeTensor<int64_t>({static_cast<int64_t>(n)}, lengths), {{0, 1}, {0, n}});
  };
  refused("input 'Polygons' or 'Runs' is needed", {{"X", image}});
  refused("the runs of object 0 have 7 pixels; the image has 8",
          {{"X", image}, {"Runs", runs({7})}});
  refused("more runs than the 8 pixels", {{"X", image}, {"Runs", runs({7, 2})}});
  refused("more runs than the 8 pixels", {{"X", image}, {"Runs", runs({-1, 9})}});
  for (const double far : {1e9, -1e9, std::numeric_limits<double>::quiet_NaN()}) {
    refused("far from an image of 2 x 4",
            {{"X", image}, {"Polygons", Polygons({{0, 0, far, 1, 1, 1}})}});
  }
  refused("there are 2 images",
          {{"X", Images(2, 2, 4)}, {"Polygons", Polygons({{0, 0, 1, 1, 1, 1}})}});
  refused("polygons are float32 or float64",
          {{"X", image}, {"Polygons", WithLod(MakeTensor<float>({1, 2}, {0, 0}), {{0, 1}})}});
  const LoDTensor labels = WithLod(MakeTensor<int64_t>({1}, {256}), {{0, 1}});
  const SlotTensors labeled = {
      {"X", image}, {"Polygons", Polygons({{0, 0, 1, 1, 1, 1}})}, {"Labels", labels}};
  refused("label 256 of object 0", labeled, {{"kind", std::string("classes")}});
  refused("attribute 'overlap' is 256", labeled, {{"overlap", int32_t{256}}});
}

}  // namespace
}  // namespace millhopper
