// SPDX-License-Identifier: Apache-2.0
// assign.
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

TEST(AssignOp, CopiesATensor) {
  const LoDTensor x = MakeTensor<int16_t>({2, 1}, {1, -2}, {{0, 1, 2}});
  const LoDTensor out = RunOp("assign", {{"X", x}}, {"Out"}).at("Out");
  EXPECT_EQ(ValuesOf<int16_t>(out), ValuesOf<int16_t>(x));
  EXPECT_EQ(out.dims(), x.dims());
  EXPECT_EQ(out.lod(), x.lod());
  const LoDTensor in_place =
      RunOp("assign", {{"X", x}}, {"Out"}, {}, {{{"Out", "X"}}, 0}).at("Out");
  EXPECT_EQ(ValuesOf<int16_t>(in_place), ValuesOf<int16_t>(x));
}

// Runs `operators` with the variables a and b in the scope.
void RunProgram(const std::string& operators, Scope* scope) {
  const std::string variables = R"(
    vars { name: "a" persistable: true type { type: LOD_TENSOR } }
    vars { name: "b" persistable: true type { type: LOD_TENSOR } })";
  Executor().Run(Program::FromString(
                     "blocks { idx: 0 parent_idx: -1 " + variables + operators + "}", "test.pbtxt"),
                 ProgramRole::kMain, scope);
}

constexpr char kAssign[] = R"(ops { type: "assign" inputs { parameter: "X" arguments: "a" }
                                    outputs { parameter: "Out" arguments: "b" } })";

TEST(AssignOp, MakesACopyThatLaterWritesDoNotChange) {
  Scope scope;
  *scope.Var("a")->GetMutable<LoDTensor>() = MakeTensor<float>({1}, {1});
  RunProgram(std::string(kAssign) + R"(ops { type: "increment"
                                             inputs { parameter: "X" arguments: "a" }
                                             outputs { parameter: "Out" arguments: "a" } })",
             &scope);
  EXPECT_EQ(ValuesOf<float>(scope.Find("a")->Get<LoDTensor>()), (std::vector<float>{2}));
  EXPECT_EQ(ValuesOf<float>(scope.Find("b")->Get<LoDTensor>()), (std::vector<float>{1}));
}

TEST(AssignOp, CopiesAListOfTensors) {
  Scope scope;
  *scope.Var("a")->GetMutable<std::vector<LoDTensor>>() = {MakeTensor<float>({1}, {1}),
                                                           MakeTensor<bool>({0}, {})};
  RunProgram(kAssign, &scope);
  const auto& list = scope.Find("b")->Get<std::vector<LoDTensor>>();
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(ValuesOf<float>(list[0]), (std::vector<float>{1}));
  EXPECT_EQ(list[1].dtype(), DataType::kBool);
}

TEST(AssignOp, DoesNothingWithoutX) {
  Scope scope;
  RunProgram(R"(ops { type: "assign" outputs { parameter: "Out" arguments: "b" } })", &scope);
  const Variable* b = scope.Find("b");
  EXPECT_TRUE(b == nullptr || !b->has_value());
}

TEST(AssignOp, RefusesAVariableWithoutAValue) {
  ExpectRefused("x_variable", "assign", {{"X", LoDTensor()}}, {"Out"});
}

}  // namespace
}  // namespace millhopper
