// SPDX-License-Identifier: Apache-2.0
// The operator print.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

// What the operator prints for a persistable variable `x` that holds this tensor.
std::string Printed(const LoDTensor& tensor, const AttributeTexts& attributes = {}) {
  ProgramRunner runner;
  *runner.scope().Var("x")->GetMutable<LoDTensor>() = tensor;
  runner.Main(BlockText(
      0, -1,
      {TensorText("x", "FP32", {-1}, 0, true), OpText("print", {{"In", {"x"}}}, {}, attributes)}));
  return runner.printed();
}

TEST(PrintOp, PrintsNameTypeDimsAndValuesOnOneLine) {
  EXPECT_EQ(Printed(MakeTensor<float>({2, 2}, {1, -2.5, 1e10f, 0.1f})),
            "x: float32 [2, 2] = {1, -2.5, 1e+10, 0.1}\n");
  EXPECT_EQ(Printed(MakeTensor<float>({0}, {})), "x: float32 [0] = {}\n");
}

TEST(PrintOp, RoundsToSixSignificantDigits) {
  EXPECT_EQ(Printed(MakeTensor<double>({4}, {2.0 / 3, 1234567.0, 123456.4, 1e-9 / 3})),
            "x: float64 [4] = {0.666667, 1.23457e+06, 123456, 3.33333e-10}\n");
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Printed(MakeTensor<float>({2}, {infinity, -infinity})),
            "x: float32 [2] = {inf, -inf}\n");
}

TEST(PrintOp, PrintsEveryType) {
  const int64_t large = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(Printed(MakeTensor<int64_t>({2}, {large, 7})),
            "x: int64 [2] = {-9223372036854775808, 7}\n");
  EXPECT_EQ(Printed(MakeTensor<int32_t>({1}, {-3})), "x: int32 [1] = {-3}\n");
  EXPECT_EQ(Printed(MakeTensor<int16_t>({1}, {-300})), "x: int16 [1] = {-300}\n");
  EXPECT_EQ(Printed(MakeTensor<int8_t>({1}, {-65})), "x: int8 [1] = {-65}\n");
  EXPECT_EQ(Printed(MakeTensor<uint8_t>({2}, {65, 255})), "x: uint8 [2] = {65, 255}\n");
  EXPECT_EQ(Printed(MakeTensor<uint16_t>({1}, {65535})), "x: uint16 [1] = {65535}\n");
  EXPECT_EQ(Printed(MakeTensor<uint32_t>({1}, {4294967295})), "x: uint32 [1] = {4294967295}\n");
  EXPECT_EQ(Printed(MakeTensor<uint64_t>({1}, {~uint64_t{0}})),
            "x: uint64 [1] = {18446744073709551615}\n");
  EXPECT_EQ(Printed(MakeTensor<bool>({2}, {true, false})), "x: bool [2] = {true, false}\n");
  LoDTensor half;
  half.Allocate(DataType::kFp16, {1});
  *static_cast<uint16_t*>(half.mutable_raw_data()) = FloatToFp16(0.5f);
  EXPECT_EQ(Printed(half), "x: float16 [1] = {0.5}\n");
  half.Allocate(DataType::kBf16, {1});
  *static_cast<uint16_t*>(half.mutable_raw_data()) = FloatToBf16(-1.5f);
  EXPECT_EQ(Printed(half), "x: bfloat16 [1] = {-1.5}\n");
}

TEST(PrintOp, PrintsLevelsOfDetailWhereThereAreAny) {
  const LoDTensor ragged = MakeTensor<int32_t>({3}, {1, 2, 3}, {{0, 1, 3}});
  EXPECT_EQ(Printed(ragged), "x: int32 [3] lod [[0, 1, 3]] = {1, 2, 3}\n");
  EXPECT_EQ(Printed(ragged, {{"print_tensor_lod", "b: false"}}), "x: int32 [3] = {1, 2, 3}\n");
}

TEST(PrintOp, PrintsOnlyWhatIsWanted) {
  const LoDTensor tensor = MakeTensor<int32_t>({2}, {1, 2});
  EXPECT_EQ(Printed(tensor, {{"message", "s: \"loss of pass\""}}),
            "loss of pass x: int32 [2] = {1, 2}\n");
  EXPECT_EQ(Printed(tensor, {{"print_tensor_name", "b: false"}}), "int32 [2] = {1, 2}\n");
  EXPECT_EQ(Printed(tensor, {{"print_tensor_type", "b: false"}}), "x: [2] = {1, 2}\n");
  EXPECT_EQ(Printed(tensor, {{"print_tensor_shape", "b: false"}}), "x: int32 = {1, 2}\n");
  const AttributeTexts nothing = {{"print_tensor_name", "b: false"},
                                  {"print_tensor_type", "b: false"},
                                  {"print_tensor_shape", "b: false"},
                                  {"print_phase", "s: \"FORWARD\""}};
  EXPECT_EQ(Printed(tensor, nothing), "{1, 2}\n");
}

TEST(PrintOp, CutsLongTensors) {
  const LoDTensor tensor = MakeTensor<int32_t>({21}, std::vector<int32_t>(21, 7));
  std::string twenty;
  for (int i = 0; i < 20; ++i) twenty += "7, ";
  EXPECT_EQ(Printed(tensor), "x: int32 [21] = {" + twenty + "... 21 in all}\n");
  EXPECT_EQ(Printed(tensor, {{"summarize", "i: -1"}}), "x: int32 [21] = {" + twenty + "7}\n");
  EXPECT_EQ(Printed(tensor, {{"summarize", "i: 1"}}), "x: int32 [21] = {7, ... 21 in all}\n");
  EXPECT_EQ(Printed(tensor, {{"summarize", "i: 0"}}), "x: int32 [21] = {... 21 in all}\n");
}

TEST(PrintOp, PrintsTheFirstTimesOfARunOnly) {
  ProgramRunner runner;
  const std::string text =
      BlockText(0, -1,
                {TensorText("i", "INT64", {1}), TensorText("n", "INT64", {1}),
                 TensorText("more", "BOOL", {1}), FillText("i", "INT64", 0),
                 FillText("n", "INT64", 5), FillText("more", "BOOL", 1),
                 OpText("while", {{"Condition", {"more"}}}, {}, {{"sub_block", "block_idx: 1"}})}) +
      BlockText(1, 0,
                {OpText("print", {{"In", {"i"}}}, {}, {{"first_n", "i: 2"}}),
                 OpText("increment", {{"X", {"i"}}}, {{"Out", {"i"}}}),
                 OpText("less_than", {{"X", {"i"}}, {"Y", {"n"}}}, {{"Out", {"more"}}})});
  runner.Main(text);
  EXPECT_EQ(runner.printed(), "i: int64 [1] = {0}\ni: int64 [1] = {1}\n");
  runner.Again();
  EXPECT_EQ(runner.printed(),
            "i: int64 [1] = {0}\ni: int64 [1] = {1}\ni: int64 [1] = {0}\ni: int64 [1] = {1}\n");
}

TEST(PrintOp, HandsTheTensorOn) {
  ProgramRunner runner;
  runner.Main(
      BlockText(0, -1,
                {TensorText("x", "FP32", {1}), TensorText("y", "FP32", {1}),
                 FillText("x", "FP32", 4), OpText("print", {{"In", {"x"}}}, {{"Out", {"y"}}}),
                 OpText("print", {{"In", {"y"}}}, {{"Out", {"y"}}})}));
  EXPECT_EQ(runner.Tensor("y").scalar<float>(), 4);
  EXPECT_EQ(runner.printed(), "x: float32 [1] = {4}\ny: float32 [1] = {4}\n");
}

TEST(PrintOp, RefusesAttributesOutOfRange) {
  const LoDTensor tensor = MakeTensor<int32_t>({1}, {1});
  ExpectError(ErrorCode::kInvalidArgument, "attribute 'summarize' is -2; it must be at least -1",
              [&] {
                Printed(tensor, {{"summarize", "i: -2"}});
              });
  ExpectError(ErrorCode::kInvalidArgument, "attribute 'first_n' is -2", [&] {
    Printed(tensor, {{"first_n", "i: -2"}});
  });
  ExpectError(ErrorCode::kInvalidArgument, "attribute 'print_phase' is \"forward\"", [&] {
    Printed(tensor, {{"print_phase", "s: \"forward\""}});
  });
}

}  // namespace
}  // namespace millhopper
