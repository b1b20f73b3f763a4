// SPDX-License-Identifier: Apache-2.0
// mosaic. tests/python/images/test_records.py compares it with numpy.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/operators/image/image_checks.h"

namespace millhopper {
namespace {

using Ints = std::vector<int32_t>;

// An image whose pixels are all `value`.
LoDTensor Plain(int64_t height, int64_t width, uint8_t value) {
  return MakeTensor<uint8_t>({1, height, width, 1},
                             std::vector<uint8_t>(static_cast<size_t>(height * width), value));
}

SlotTensors Four() {
  return {
      {"X", Plain(2, 1, 1)}, {"X", Plain(1, 4, 2)}, {"X", Plain(1, 2, 3)}, {"X", Plain(1, 1, 4)}};
}

// The centre is in the middle.
Attributes Centred(float p = 1) {
  return {{"size", Ints{2, 3}}, {"centre_range", Floats{1, 1}}, {"p", p}, {"fill", Floats{9}}};
}

TEST(MosaicOp, LaysFourImagesAroundAPlace) {
  const auto made = RunOp("mosaic", Four(), {"Out"}, Centred());
  EXPECT_EQ(made.at("Out").dims(), (Dims{1, 4, 6, 1}));
  EXPECT_EQ(ValuesOf<uint8_t>(made.at("Out")), (std::vector<uint8_t>{9, 9, 1, 9, 9, 9,  //
                                                                     9, 9, 1, 2, 2, 2,  //
                                                                     9, 3, 3, 4, 9, 9,  //
                                                                     9, 9, 9, 9, 9, 9}));
}

TEST(MosaicOp, MovesBoxesAndPointsOfAllRecords) {
  SlotTensors inputs = Four();
  for (int i = 0; i < 4; ++i) {
    inputs.emplace_back("Boxes", MakeTensor<float>({1, 4}, {0, 0, 1, 1}));
  }
  for (int i = 0; i < 4; ++i) {
    inputs.emplace_back("Points", MakeTensor<double>({1, 3}, {0.5, 0.25, 7}));
  }
  for (int64_t i = 0; i < 4; ++i) inputs.emplace_back("With", MakeTensor<int64_t>({1}, {i}));
  RunOpOptions options;
  options.dims_by_values = true;
  const auto made =
      RunOp("mosaic", inputs, {"Out", "OutBoxes", "OutPoints", "OutWith"}, Centred(), options);
  EXPECT_EQ(ValuesOf<float>(made.at("OutBoxes")),
            (Floats{2, 0, 3, 1, 3, 1, 4, 2, 1, 2, 2, 3, 3, 2, 4, 3}));
  EXPECT_EQ(ValuesOf<double>(made.at("OutPoints")),
            (std::vector<double>{2.5, 0.25, 7, 3.5, 1.25, 7, 1.5, 2.25, 7, 3.5, 2.25, 7}));
  EXPECT_EQ(ValuesOf<int64_t>(made.at("OutWith")), (std::vector<int64_t>{0, 1, 2, 3}));
}

TEST(MosaicOp, KeepsTheFirstRecord) {
  RunOpOptions options;
  options.dims_by_values = true;
  const auto made = RunOp("mosaic", Four(), {"Out"}, Centred(0), options);
  EXPECT_EQ(ValuesOf<uint8_t>(made.at("Out")), (std::vector<uint8_t>{1, 1}));
}

TEST(MosaicOp, RefusesWhatDoesNotFit) {
  SlotTensors three = Four();
  three.pop_back();
  ExpectRefused("input 'X' has 3 arguments; it needs 4", "mosaic", three, {"Out"}, Centred());
  SlotTensors other = Four();
  other[2].second = MakeTensor<float>({1, 1, 1, 1}, {0});
  ExpectRefused("all records have images of one type", "mosaic", other, {"Out"}, Centred());
  SlotTensors boxes = Four();
  boxes.emplace_back("Boxes", MakeTensor<float>({1, 4}, {0, 0, 1, 1}));
  ExpectRefused("each output has one of each of 4 records", "mosaic", boxes, {"Out", "OutBoxes"},
                Centred());
  ExpectRefused("attribute 'fill' is 256", "mosaic", Four(), {"Out"},
                {{"size", Ints{2, 3}}, {"fill", Floats{256}}});
  ExpectRefused("from 0 to 2", "mosaic", Four(), {"Out"},
                {{"size", Ints{2, 3}}, {"centre_range", Floats{1, 3}}});
}

}  // namespace
}  // namespace millhopper
