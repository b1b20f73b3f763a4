// SPDX-License-Identifier: Apache-2.0
// copy_paste. tests/python/images/test_records.py compares it with numpy.
#include <gtest/gtest.h>

#include <vector>

#include "tests/operators/image/image_checks.h"

namespace millhopper {
namespace {

using Bytes = std::vector<uint8_t>;

LoDTensor Masks(int64_t n, const Bytes& values) {
  LoDTensor masks = MakeTensor<uint8_t>({n, 1, 4, 1}, values);
  masks.set_lod({{0, static_cast<uint64_t>(n)}});
  return masks;
}

SlotTensors Pair() {
  return {{"X", MakeTensor<uint8_t>({1, 1, 4, 1}, {1, 2, 3, 4})},
          {"X", MakeTensor<uint8_t>({1, 1, 4, 1}, {5, 6, 7, 8})},
          {"Masks", Masks(2, {1, 1, 0, 0, 0, 0, 1, 0})},
          {"Masks", Masks(1, {0, 1, 1, 0})}};
}

TEST(CopyPasteOp, CoversWhatLiesBelow) {
  SlotTensors inputs = Pair();
  inputs.emplace_back("Boxes", MakeTensor<float>({2, 4}, {0, 0, 2, 1, 2, 0, 3, 1}));
  inputs.emplace_back("Boxes", MakeTensor<float>({1, 4}, {1, 0, 3, 1}));
  inputs.emplace_back("With", MakeTensor<int64_t>({2}, {4, 5}));
  inputs.emplace_back("With", MakeTensor<int64_t>({1}, {6}));
  RunOpOptions options;
  options.dims_by_values = true;
  const auto made =
      RunOp("copy_paste", inputs, {"Out", "OutMasks", "OutBoxes", "OutWith", "Areas"}, {}, options);
  EXPECT_EQ(ValuesOf<uint8_t>(made.at("Out")), (Bytes{1, 6, 7, 4}));
  EXPECT_EQ(ValuesOf<uint8_t>(made.at("OutMasks")), (Bytes{1, 0, 0, 0, 0, 1, 1, 0}));
  EXPECT_EQ(ValuesOf<float>(made.at("OutBoxes")), (Floats{0, 0, 1, 1, 1, 0, 3, 1}));
  EXPECT_EQ(ValuesOf<int64_t>(made.at("OutWith")), (std::vector<int64_t>{4, 6}));
  EXPECT_EQ(ValuesOf<float>(made.at("Areas")), (Floats{1, 2}));
}

TEST(CopyPasteOp, RefusesWhatDoesNotFit) {
  SlotTensors labels = Pair();
  labels.emplace_back("With", MakeTensor<int64_t>({1}, {4}));
  labels.emplace_back("With", MakeTensor<int64_t>({1}, {6}));
  ExpectRefused("a row, or a sequence, for each of the 2 masks", "copy_paste", labels,
                {"Out", "OutMasks", "OutWith"});
  SlotTensors none = Pair();
  none.resize(2);
  ExpectRefused("one argument of masks", "copy_paste", none, {"Out"});
}

}  // namespace
}  // namespace millhopper
