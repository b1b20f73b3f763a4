// SPDX-License-Identifier: Apache-2.0
// pad_sequence.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

std::map<std::string, LoDTensor> Pad(const LoDTensor& x, const Attributes& attributes,
                                     bool dims_by_values = false) {
  RunOpOptions options;
  options.dims_by_values = dims_by_values;
  return RunOp("pad_sequence", {{"X", x}}, {"Out", "Length"}, attributes, options);
}

LoDTensor Three() { return MakeTensor<int64_t>({4}, {1, 2, 3, 4}, {{0, 3, 3, 4}}); }

TEST(PadSequenceOp, PadsToTheLongest) {
  const auto outs = Pad(Three(), {{"value", -1.0}}, true);
  EXPECT_EQ(outs.at("Out").dims(), (Dims{3, 3}));
  EXPECT_TRUE(outs.at("Out").lod().empty());
  EXPECT_EQ(ValuesOf<int64_t>(outs.at("Out")),
            (std::vector<int64_t>{1, 2, 3, -1, -1, -1, 4, -1, -1}));
  EXPECT_EQ(ValuesOf<int64_t>(outs.at("Length")), (std::vector<int64_t>{3, 0, 1}));
}

TEST(PadSequenceOp, PadsToALengthAndKeepsOuterLevels) {
  const LoDTensor x = MakeTensor<float>({2, 2}, {1, 2, 3, 4}, {{0, 1, 2}, {0, 1, 2}});
  const LoDTensor out = Pad(x, {{"length", int64_t{2}}}, true).at("Out");
  EXPECT_EQ(out.dims(), (Dims{2, 2, 2}));
  EXPECT_EQ(out.lod(), (Lod{{0, 1, 2}}));
  EXPECT_EQ(ValuesOf<float>(out), (std::vector<float>{1, 2, 0, 0, 3, 4, 0, 0}));
}

TEST(PadSequenceOp, TakesRowsWithoutLevelsForOneSequence) {
  const LoDTensor x = MakeTensor<uint8_t>({2}, {7, 8});
  EXPECT_EQ(Pad(x, {}).at("Out").dims(), (Dims{1, 2}));
  EXPECT_EQ(ValuesOf<uint8_t>(Pad(x, {{"length", int64_t{3}}, {"value", 9.0}}).at("Out")),
            (std::vector<uint8_t>{7, 8, 9}));
}

TEST(PadSequenceOp, RefusesLongerSequencesUnlessItMayTruncate) {
  ExpectError(ErrorCode::kDataLoss, "sequence 0 has 3 rows, more than the attribute 'length', 2",
              [] {
                Pad(Three(), {{"length", int64_t{2}}}, true);
              });
  const auto outs = Pad(Three(), {{"length", int64_t{2}}, {"truncate", true}}, true);
  EXPECT_EQ(ValuesOf<int64_t>(outs.at("Out")), (std::vector<int64_t>{1, 2, 0, 0, 4, 0}));
  EXPECT_EQ(ValuesOf<int64_t>(outs.at("Length")), (std::vector<int64_t>{2, 0, 1}));
}

TEST(PadSequenceOp, RefusesWhatDoesNotFit) {
  ExpectRefused("the padding value 0.5 is no int64", "pad_sequence", {{"X", Three()}}, {"Out"},
                {{"value", 0.5}});
  ExpectRefused("it must be at least -1", "pad_sequence", {{"X", Three()}}, {"Out"},
                {{"length", int64_t{-2}}});
}

}  // namespace
}  // namespace millhopper
