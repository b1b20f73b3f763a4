// SPDX-License-Identifier: Apache-2.0
// crop.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "framework/base/random.h"
#include "tests/files/images.h"
#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Ints = std::vector<int32_t>;
using Floats = std::vector<float>;

TEST(CropOp, KeepsTheBox) {
  const LoDTensor x = NumberedImage(5, 6);
  for (const RunOpOptions& options : {RunOpOptions(), RunOpOptions{{{"Out", "X"}}, 0}}) {
    const LoDTensor out =
        RunOp("crop", {{"X", x}}, {"Out"},
              {{"size", Ints{2, 3}}, {"top", int32_t{1}}, {"left", int32_t{3}}}, options)
            .at("Out");
    EXPECT_EQ(out.dims(), (Dims{1, 2, 3, 1}));
    EXPECT_EQ(ValuesOf<uint8_t>(out), (std::vector<uint8_t>{13, 14, 15, 23, 24, 25}));
  }
}

TEST(CropOp, KeepsTheBoxOfEveryImageAndChannel) {
  const LoDTensor x = RandomImages({3, 4, 5, 2});
  const std::vector<float> from = ValuesOf<float>(AsFloats(x));
  const LoDTensor out = RunOp("crop", {{"X", AsFloats(x)}}, {"Out"},
                              {{"size", Ints{1, 2}}, {"top", int32_t{3}}, {"left", int32_t{2}}})
                            .at("Out");
  std::vector<float> expected;
  for (size_t i = 0; i < 3; ++i) {
    const size_t first = ((i * 4 + 3) * 5 + 2) * 2;
    expected.insert(expected.end(), &from[first], &from[first] + 4);
  }
  EXPECT_EQ(ValuesOf<float>(out), expected);
}

TEST(CropOp, RefusesBoxesThatDoNotFit) {
  ExpectRefused("an image of 5 x 6 pixels has no part of 5 x 3 at row 1, column 0", "crop",
                {{"X", NumberedImage(5, 6)}}, {"Out"}, {{"size", Ints{5, 3}}, {"top", int32_t{1}}});
  ExpectRefused("attribute 'size' has 1 values; it is [height, width]", "crop",
                {{"X", NumberedImage(5, 6)}}, {"Out"}, {{"size", Ints{5}}});
}

}  // namespace
}  // namespace millhopper
