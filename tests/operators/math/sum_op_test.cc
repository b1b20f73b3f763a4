// SPDX-License-Identifier: Apache-2.0
// sum.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "framework/program/executor.h"
#include "framework/program/program.h"
#include "framework/program/scope.h"
#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

TEST(SumOp, AddsAllInputs) {
  const LoDTensor a = MakeTensor<double>({2, 1}, {1, 2}, {{0, 1, 2}});
  const LoDTensor b = MakeTensor<double>({2, 1}, {10, 20});
  const LoDTensor c = MakeTensor<double>({2, 1}, {0.5, 0.25});
  const LoDTensor out = RunOp("sum", {{"X", a}, {"X", b}, {"X", c}}, {"Out"}).at("Out");
  EXPECT_EQ(ValuesOf<double>(out), (std::vector<double>{11.5, 22.25}));
  EXPECT_EQ(out.dims(), a.dims());
  EXPECT_EQ(out.lod(), a.lod());
  EXPECT_EQ(ValuesOf<double>(RunOp("sum", {{"X", a}}, {"Out"}).at("Out")), ValuesOf<double>(a));
}

TEST(SumOp, AddsIntegersAndFloats) {
  const LoDTensor ints = MakeTensor<int32_t>({1}, {-4});
  EXPECT_EQ(ValuesOf<int32_t>(RunOp("sum", {{"X", ints}, {"X", ints}}, {"Out"}).at("Out"))[0], -8);
  const LoDTensor longs = MakeTensor<int64_t>({1}, {int64_t{1} << 60});
  EXPECT_EQ(ValuesOf<int64_t>(RunOp("sum", {{"X", longs}, {"X", longs}}, {"Out"}).at("Out"))[0],
            int64_t{1} << 61);
  const LoDTensor floats = MakeTensor<float>({1}, {1.5f});
  EXPECT_EQ(ValuesOf<float>(RunOp("sum", {{"X", floats}, {"X", floats}}, {"Out"}).at("Out"))[0],
            3.0f);
}

TEST(SumOp, MayTakeThePlaceOfAnyInput) {
  const LoDTensor a = MakeTensor<float>({2}, {1, 2});
  const LoDTensor b = MakeTensor<float>({2}, {10, 20});
  // RunOp names the first X x_variable, whichever tensor it is.
  EXPECT_EQ(ValuesOf<float>(
                RunOp("sum", {{"X", a}, {"X", b}}, {"Out"}, {}, {{{"Out", "X"}}, 0}).at("Out")),
            (std::vector<float>{11, 22}));
  for (const char* out : {"a", "b", "c"}) {
    const std::string program = StrCat(R"(blocks { idx: 0 parent_idx: -1
      vars { name: "a" persistable: true type { type: LOD_TENSOR } }
      vars { name: "b" persistable: true type { type: LOD_TENSOR } }
      vars { name: "c" persistable: true type { type: LOD_TENSOR } }
      ops { type: "sum" inputs { parameter: "X" arguments: "a" arguments: "b" arguments: "c"
                                 arguments: "b" arguments: "a" }
            outputs { parameter: "Out" arguments: ")",
                                       out, "\" } } }");
    Scope scope;
    *scope.Var("a")->GetMutable<LoDTensor>() = a;
    *scope.Var("b")->GetMutable<LoDTensor>() = b;
    *scope.Var("c")->GetMutable<LoDTensor>() = MakeTensor<float>({2}, {100, 200});
    Executor().Run(Program::FromString(program, "test.pbtxt"), ProgramRole::kMain, &scope);
    EXPECT_EQ(ValuesOf<float>(scope.Find(out)->Get<LoDTensor>()), (std::vector<float>{122, 244}));
  }
}

TEST(SumOp, TakesNoRows) {
  const LoDTensor none = MakeTensor<float>({0, 2}, {});
  EXPECT_EQ(RunOp("sum", {{"X", none}, {"X", none}}, {"Out"}).at("Out").dims(), (Dims{0, 2}));
}

TEST(SumOp, RefusesWhatDoesNotFit) {
  const LoDTensor a = MakeTensor<float>({2}, {1, 2});
  ExpectRefused(
      "input 'X' number 1 (variable 'x_variable1') is float32 [1]; float32 [2] is needed, as "
      "the first is",
      "sum", {{"X", a}, {"X", MakeTensor<float>({1}, {1})}}, {"Out"});
  ExpectRefused("is float64 [2]; float32 [2] is needed", "sum",
                {{"X", a}, {"X", MakeTensor<double>({2}, {1, 2})}}, {"Out"});
  const LoDTensor bytes = MakeTensor<uint8_t>({1}, {1});
  ExpectRefused("is uint8 [1]; the types taken are float32, float64, int32, int64", "sum",
                {{"X", bytes}}, {"Out"});
}

}  // namespace
}  // namespace millhopper
