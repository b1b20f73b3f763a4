// SPDX-License-Identifier: Apache-2.0
// cast.
#include <gtest/gtest.h>

#include <iterator>
#include <limits>
#include <vector>

#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

LoDTensor Cast(const LoDTensor& x, DataType type, const RunOpOptions& options = {}) {
  return RunOp("cast", {{"X", x}}, {"Out"},
               {{"in_dtype", static_cast<int32_t>(x.dtype())},
                {"out_dtype", static_cast<int32_t>(type)}},
               options)
      .at("Out");
}

const std::vector<DataType>& AllTypes() {
  static const auto* types =
      new std::vector<DataType>{std::begin(kDataTypes), std::end(kDataTypes)};
  return *types;
}

TEST(CastOp, KeepsWhatEveryTypeCanHold) {
  const LoDTensor start = MakeTensor<double>({2, 1}, {1, 0}, {{0, 1, 2}});
  for (const DataType from : AllTypes()) {
    const LoDTensor x = Cast(start, from);
    EXPECT_EQ(x.dtype(), from);
    for (const DataType to : AllTypes()) {
      const LoDTensor out = Cast(x, to, {{{"Out", "X"}}, 0});
      EXPECT_EQ(out.dtype(), to);
      EXPECT_EQ(out.dims(), start.dims());
      EXPECT_EQ(out.lod(), start.lod());
      EXPECT_EQ(ValuesOf<double>(Cast(out, DataType::kFp64)), (std::vector<double>{1, 0}))
          << ToString(from) << " to " << ToString(to);
    }
  }
}

TEST(CastOp, CutsOffFractionsAndStopsAtTheLimits) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const LoDTensor x = MakeTensor<double>({7}, {2.9, -2.9, 300, -300, nan, 1e30, -1e30});
  EXPECT_EQ(ValuesOf<uint8_t>(Cast(x, DataType::kUint8)),
            (std::vector<uint8_t>{2, 0, 255, 0, 0, 255, 0}));
  EXPECT_EQ(ValuesOf<int8_t>(Cast(x, DataType::kInt8)),
            (std::vector<int8_t>{2, -2, 127, -128, 0, 127, -128}));
  EXPECT_EQ(ValuesOf<int16_t>(Cast(x, DataType::kInt16)),
            (std::vector<int16_t>{2, -2, 300, -300, 0, 32767, -32768}));
  const int64_t lowest = std::numeric_limits<int64_t>::lowest();
  const int64_t highest = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(ValuesOf<int64_t>(Cast(x, DataType::kInt64)),
            (std::vector<int64_t>{2, -2, 300, -300, 0, highest, lowest}));
  EXPECT_EQ(ValuesOf<bool>(Cast(x, DataType::kBool)), std::vector<bool>(7, true));
}

TEST(CastOp, UnsignedIntegersStopAtTheirLimitsAndWrapAround) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const LoDTensor x = MakeTensor<double>({4}, {2.9, -1, 1e30, nan});
  EXPECT_EQ(ValuesOf<uint16_t>(Cast(x, DataType::kUint16)),
            (std::vector<uint16_t>{2, 0, 65535, 0}));
  EXPECT_EQ(ValuesOf<uint32_t>(Cast(x, DataType::kUint32)),
            (std::vector<uint32_t>{2, 0, 4294967295, 0}));
  EXPECT_EQ(ValuesOf<uint64_t>(Cast(x, DataType::kUint64)),
            (std::vector<uint64_t>{2, 0, ~uint64_t{0}, 0}));
  const LoDTensor wide = MakeTensor<uint64_t>({2}, {~uint64_t{0}, (uint64_t{1} << 32) + 5});
  EXPECT_EQ(ValuesOf<int64_t>(Cast(wide, DataType::kInt64)),
            (std::vector<int64_t>{-1, (int64_t{1} << 32) + 5}));
  EXPECT_EQ(ValuesOf<uint16_t>(Cast(wide, DataType::kUint16)), (std::vector<uint16_t>{65535, 5}));
  EXPECT_EQ(ValuesOf<double>(Cast(wide, DataType::kFp64))[0], 0x1p64);
}

TEST(CastOp, WrapsIntegersAroundAndKeepsLargeOnes) {
  const LoDTensor x = MakeTensor<int64_t>({4}, {-1, 256, (int64_t{1} << 32) + 5, 1 << 24});
  EXPECT_EQ(ValuesOf<uint8_t>(Cast(x, DataType::kUint8)), (std::vector<uint8_t>{255, 0, 5, 0}));
  EXPECT_EQ(ValuesOf<int32_t>(Cast(x, DataType::kInt32)),
            (std::vector<int32_t>{-1, 256, 5, 1 << 24}));
  EXPECT_EQ(ValuesOf<double>(Cast(x, DataType::kFp64)),
            (std::vector<double>{-1, 256, 4294967301.0, 16777216.0}));
}

TEST(CastOp, RoundsTo16BitFloats) {
  const LoDTensor x = MakeTensor<float>({3}, {1.0f + 1.0f / 2048, 1.0f + 3.0f / 2048, 1e30f});
  const LoDTensor half = Cast(Cast(x, DataType::kFp16), DataType::kFp32);
  EXPECT_EQ(ValuesOf<float>(half),
            (std::vector<float>{1.0f, 1.0f + 4.0f / 2048, std::numeric_limits<float>::infinity()}));
  const LoDTensor brain = Cast(Cast(x, DataType::kBf16), DataType::kFp64);
  EXPECT_EQ(ValuesOf<double>(brain)[0], 1.0);
  EXPECT_NEAR(ValuesOf<double>(brain)[2], 1e30, 1e28);
}

TEST(CastOp, NeedNotBeToldTheTypeOfX) {
  for (const DataType from : AllTypes()) {
    const LoDTensor x = Cast(MakeTensor<double>({2}, {1, 0}), from);
    const LoDTensor out = RunOp("cast", {{"X", x}}, {"Out"}, {{"out_dtype", 3}}).at("Out");
    EXPECT_EQ(ValuesOf<int64_t>(out), (std::vector<int64_t>{1, 0})) << ToString(from);
  }
}

TEST(CastOp, TakesNoRows) {
  EXPECT_EQ(Cast(MakeTensor<uint8_t>({0, 28}, {}), DataType::kFp32).dims(), (Dims{0, 28}));
}

TEST(CastOp, RefusesWhatDoesNotFit) {
  const LoDTensor x = MakeTensor<float>({1}, {1});
  ExpectRefused("input 'X' (variable 'x_variable') is float32 [1]; attribute 'in_dtype' says uint8",
                "cast", {{"X", x}}, {"Out"}, {{"in_dtype", 20}, {"out_dtype", 5}});
  ExpectRefused("7 is no data type", "cast", {{"X", x}}, {"Out"},
                {{"in_dtype", 5}, {"out_dtype", 7}});
  ExpectRefused("out_dtype", "cast", {{"X", x}}, {"Out"}, {{"in_dtype", 5}});
}

}  // namespace
}  // namespace millhopper
