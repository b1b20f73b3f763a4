// SPDX-License-Identifier: Apache-2.0
// convert_boxes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Floats = std::vector<float>;

Floats Converted(const Floats& box, const std::string& from, bool relative, const std::string& to,
                 bool to_relative) {
  const LoDTensor image = MakeTensor<uint8_t>({1, 10, 20, 1}, std::vector<uint8_t>(200));
  return ValuesOf<float>(RunOp("convert_boxes",
                               {{"Boxes", MakeTensor<float>({1, 4}, box)}, {"X", image}}, {"Out"},
                               {{"box_format", from},
                                {"relative", relative},
                                {"to_box_format", to},
                                {"to_relative", to_relative}})
                             .at("Out"));
}

TEST(ConvertBoxesOp, EveryNotationToEveryOther) {
  const struct {
    std::string format;
    bool relative;
    Floats box;
  } notations[] = {
      {"xyxy", false, {2, 1, 12, 9}},           {"xywh", false, {2, 1, 10, 8}},
      {"cxcywh", false, {7, 5, 10, 8}},         {"xyxy", true, {0.1f, 0.1f, 0.6f, 0.9f}},
      {"xywh", true, {0.1f, 0.1f, 0.5f, 0.8f}}, {"cxcywh", true, {0.35f, 0.5f, 0.5f, 0.8f}}};
  for (const auto& from : notations) {
    for (const auto& to : notations) {
      const Floats made = Converted(from.box, from.format, from.relative, to.format, to.relative);
      for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(made[i], to.box[i], 1e-5f) << from.format;
    }
  }
}

TEST(ConvertBoxesOp, NeedsTheImageForParts) {
  ExpectRefused("input 'X' is needed", "convert_boxes",
                {{"Boxes", MakeTensor<float>({1, 4}, {1, 1, 3, 3})}}, {"Out"},
                {{"to_relative", true}});
}

}  // namespace
}  // namespace millhopper
