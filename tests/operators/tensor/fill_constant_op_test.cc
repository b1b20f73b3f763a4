// SPDX-License-Identifier: Apache-2.0
// fill_constant.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

LoDTensor Filled(DataType type, float value) {
  LoDTensor out = RunOp("fill_constant", {}, {"Out"},
                        {{"shape", std::vector<int32_t>{2, 1}},
                         {"dtype", static_cast<int32_t>(type)},
                         {"value", value},
                         {"force_cpu", true}})
                      .at("Out");
  EXPECT_EQ(out.dims(), (Dims{2, 1}));
  EXPECT_EQ(out.dtype(), type);
  return out;
}

TEST(FillConstantOp, FillsTensorsOfAllTypes) {
  EXPECT_EQ(ValuesOf<bool>(Filled(DataType::kBool, -0.5f)), (std::vector<bool>{true, true}));
  EXPECT_EQ(ValuesOf<bool>(Filled(DataType::kBool, 0)), (std::vector<bool>{false, false}));
  EXPECT_EQ(ValuesOf<int16_t>(Filled(DataType::kInt16, -7)), (std::vector<int16_t>{-7, -7}));
  EXPECT_EQ(ValuesOf<int32_t>(Filled(DataType::kInt32, 2.75f)), (std::vector<int32_t>{2, 2}));
  EXPECT_EQ(ValuesOf<int64_t>(Filled(DataType::kInt64, 0x1p53f)),
            std::vector<int64_t>(2, int64_t{1} << 53));
  EXPECT_EQ(ValuesOf<float>(Filled(DataType::kFp32, 0.1f)), (std::vector<float>{0.1f, 0.1f}));
  EXPECT_EQ(ValuesOf<double>(Filled(DataType::kFp64, 0.5f)), (std::vector<double>{0.5, 0.5}));
  EXPECT_EQ(ValuesOf<uint8_t>(Filled(DataType::kUint8, 255)), (std::vector<uint8_t>{255, 255}));
  EXPECT_EQ(ValuesOf<int8_t>(Filled(DataType::kInt8, -128)), (std::vector<int8_t>{-128, -128}));
  const LoDTensor half = Filled(DataType::kFp16, 1.5f), brain = Filled(DataType::kBf16, 1.5f);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Fp16ToFloat(static_cast<const uint16_t*>(half.raw_data())[i]), 1.5f);
    EXPECT_EQ(Bf16ToFloat(static_cast<const uint16_t*>(brain.raw_data())[i]), 1.5f);
  }
}

TEST(FillConstantOp, FillsFloatsWithZeroByDefaultAndTakesNoRows) {
  const LoDTensor out =
      RunOp("fill_constant", {}, {"Out"}, {{"shape", std::vector<int32_t>{3}}}).at("Out");
  EXPECT_EQ(ValuesOf<float>(out), (std::vector<float>{0, 0, 0}));
  const LoDTensor none =
      RunOp("fill_constant", {}, {"Out"}, {{"shape", std::vector<int32_t>{0, 4}}}).at("Out");
  EXPECT_EQ(none.dims(), (Dims{0, 4}));
}

TEST(FillConstantOp, RefusesWhatTheTypeCannotHold) {
  const auto refused = [](const std::string& words, int32_t type, float value) {
    ExpectRefused(words, "fill_constant", {}, {"Out"},
                  {{"shape", std::vector<int32_t>{1}}, {"dtype", type}, {"value", value}});
  };
  refused("attribute 'value' is 256, which uint8 cannot hold", 20, 256);
  refused("attribute 'value' is -1, which uint8 cannot hold", 20, -1);
  refused("which int64 cannot hold", 3, 0x1p63f);
  refused("which int32 cannot hold", 2, std::numeric_limits<float>::quiet_NaN());
  refused("7 is no data type", 7, 0);
  ExpectRefused("attribute 'shape' is -1; it must be at least 0", "fill_constant", {}, {"Out"},
                {{"shape", std::vector<int32_t>{-1}}});
  ExpectRefused("shape", "fill_constant", {}, {"Out"});
}

}  // namespace
}  // namespace millhopper
