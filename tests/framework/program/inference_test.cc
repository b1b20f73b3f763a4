// SPDX-License-Identifier: Apache-2.0
// What the check of a program knows of dims and types, and what it leaves unknown.
#include "framework/program/inference.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/program/executor.h"
#include "framework/program/infer_context.h"
#include "framework/program/program.h"
#include "framework/program/scope.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

// A variable of which nothing is declared.
std::string Var(const std::string& name) {
  return "vars { name: '" + name + "' type { type: LOD_TENSOR } }\n";
}

std::string ProblemsOf(const std::vector<std::string>& parts, const CheckContext& context = {}) {
  return Join(Program::FromString(BlockText(0, -1, parts), "p")->Check(context));
}

// The problem of an operator of X and Y, of float32 with these dims, that makes Out.
std::string ProblemOf(const std::string& type, const std::vector<int64_t>& x,
                      const std::vector<int64_t>& y, const AttributeTexts& attributes = {}) {
  return ProblemsOf({TensorText("x", "FP32", x), TensorText("y", "FP32", y), Var("out"),
                     OpText(type, {{"X", {"x"}}, {"Y", {"y"}}}, {{"Out", {"out"}}}, attributes)});
}

TEST(Inference, AProductIsOfAsManyColumnsAsRows) {
  const std::string problem = ProblemOf("mul", {64, 128}, {64, 10});
  EXPECT_NE(problem.find("p:"), std::string::npos);
  EXPECT_NE(problem.find("operator 'mul': input 'Y' (variable 'y') is float32 [64, 10]; 'X' "
                         "(variable 'x'), float32 [64, 128], has 128 columns, but 'Y' has "
                         "64 rows"),
            std::string::npos)
      << problem;
  EXPECT_EQ(ProblemOf("mul", {64, 128}, {128, 10}), "");
  EXPECT_EQ(ProblemOf("mul", {-1, 128}, {128, 10}), "");
  EXPECT_EQ(ProblemOf("mul", {64, -1}, {64, 10}), "");
  EXPECT_EQ(ProblemOf("mul", {2, 3, 4}, {12, 10}), "");
  EXPECT_NE(ProblemOf("mul", {2, 3, 4}, {12, 10}, {{"x_num_col_dims", "i: 2"}}), "");
  EXPECT_NE(ProblemOf("mul", {2}, {2, 2}), "") << "no columns";
  EXPECT_EQ(ProblemOf("mul", {2, INT64_MAX, INT64_MAX}, {5, 2}), "") << "too many to count";
}

TEST(Inference, TheSmallerOfTwoIsAPartOfTheOther) {
  for (const char* type : {"elementwise_add", "less_than"}) {
    EXPECT_EQ(ProblemOf(type, {4, 3}, {4, 3}), "");
    EXPECT_EQ(ProblemOf(type, {4, 3}, {3}), "");
    EXPECT_EQ(ProblemOf(type, {4, 3}, {1}), "");
    EXPECT_EQ(ProblemOf(type, {4, 3}, {4}, {{"axis", "i: 0"}}), "");
    EXPECT_EQ(ProblemOf(type, {4, 3}, {4, 1}), "");
    EXPECT_EQ(ProblemOf(type, {4, 3}, {4, -1}), "");
    EXPECT_EQ(ProblemOf(type, {4, -1}, {3}), "");
    EXPECT_EQ(ProblemOf(type, {4, 3}, {4, 3}, {{"axis", "i: 1"}}), "") << "the axis says nothing";
    const std::string problem = ProblemOf(type, {4, 3}, {4});
    EXPECT_NE(problem.find("its dims must be those of 'X' (variable 'x'), float32 [4, 3], or a "
                           "part of them that begins at axis 1"),
              std::string::npos)
        << problem;
    EXPECT_NE(ProblemOf(type, {3}, {4, 3}), "");
    EXPECT_NE(ProblemOf(type, {4, 3}, {5, -1}), "");
  }
}

TEST(Inference, WhatIsMadeIsWhatIsDeclared) {
  const std::string op = OpText("mean", {{"X", {"x"}}}, {{"Out", {"out"}}});
  const std::string x = TensorText("x", "FP32", {-1, 3});
  EXPECT_EQ(ProblemsOf({x, TensorText("out", "FP32", {1}), op}), "");
  EXPECT_EQ(ProblemsOf({x, TensorText("out", "FP32", {-1}), op}), "");
  for (const std::string& out : {TensorText("out", "FP32", {2}), TensorText("out", "FP32", {1, 1}),
                                 TensorText("out", "FP64", {1})}) {
    const std::string problem = ProblemsOf({x, out, op});
    EXPECT_NE(problem.find("operator 'mean': output 'Out': variable 'out' is declared "),
              std::string::npos);
    EXPECT_NE(problem.find(", but what is written is float32 [1]"), std::string::npos) << problem;
  }
}

TEST(Inference, WhatIsNotDeclaredFollows) {
  const auto problems = [](const std::string& shape) {
    return ProblemsOf(
        {Var("x"), Var("y"), Var("z"), FillText("x", "FP32", 1),
         OpText("fill_constant", {}, {{"Out", {"y"}}}, {{"shape", shape}, {"dtype", "i: 5"}}),
         OpText("sum", {{"X", {"x", "y"}}}, {{"Out", {"z"}}})});
  };
  EXPECT_EQ(problems("ints: 1"), "");
  EXPECT_NE(problems("ints: 2"), "");
}

// x is [1] at first; the body makes it [2] in its first step, after the operators that read it.
TEST(Inference, WhatALoopWritesIsUnknownWithinAndBehindIt) {
  const std::string two =
      OpText("fill_constant", {}, {{"Out", {"x"}}}, {{"shape", "ints: 2"}, {"dtype", "i: 5"}});
  const std::string add = OpText("sum", {{"X", {"x", "y"}}}, {{"Out", {"z"}}});
  const std::string text =
      BlockText(
          0, -1,
          {Var("x"), Var("z"), TensorText("y", "FP32", {2}), TensorText("go", "BOOL", {1}),
           FillText("x", "FP32", 1),
           OpText("while", {{"Condition", {"go"}}}, {}, {{"sub_block", "block_idx: 1"}}), add}) +
      BlockText(1, 0, {add, two});
  EXPECT_EQ(Join(Program::FromString(text, "p")->Check({})), "");
}

TEST(Inference, WhatAConditionWritesIsWhatBothWaysAgreeOn) {
  const std::string two =
      OpText("fill_constant", {}, {{"Out", {"x"}}}, {{"shape", "ints: 2"}, {"dtype", "i: 5"}});
  const std::string add = OpText("sum", {{"X", {"x", "y"}}}, {{"Out", {"z"}}});
  const auto text = [&](const std::string& inner) {
    return BlockText(
               0, -1,
               {Var("x"), Var("z"), TensorText("y", "FP32", {2}), TensorText("go", "BOOL", {1}),
                FillText("x", "FP32", 1),
                OpText("if_else", {{"Cond", {"go"}}}, {}, {{"true_block", "block_idx: 1"}}), add}) +
           BlockText(1, 0, {inner});
  };
  EXPECT_EQ(Join(Program::FromString(text(two), "p")->Check({})), "");
  EXPECT_NE(Join(Program::FromString(text(FillText("go", "BOOL", 0)), "p")->Check({})), "")
      << "x is as it was";
  EXPECT_NE(Join(Program::FromString(text(FillText("x", "FP32", 1)), "p")->Check({})), "")
      << "x has the dims that it had";
  EXPECT_EQ(Join(Program::FromString(text(two + add), "p")->Check({})), "");
  EXPECT_NE(Join(Program::FromString(
                     text(two + OpText("mul", {{"X", {"x"}}, {"Y", {"y"}}}, {{"Out", {"z"}}})), "p")
                     ->Check({})),
            "")
      << "within it, it is known";
}

// What has had no value is what the block makes of it, or still nothing.
TEST(Inference, WhatOnlyConditionsWriteIsWhatTheyMake) {
  const std::string add = OpText("sum", {{"X", {"x", "y"}}}, {{"Out", {"z"}}});
  const auto branch = [](int block) {
    return OpText("conditional_block", {{"X", {"go"}}}, {},
                  {{"sub_block", "block_idx: " + std::to_string(block)}});
  };
  const auto problems = [&](const std::string& before, const std::string& first,
                            const std::string& second) {
    const std::string text =
        BlockText(0, -1,
                  {Var("x"), Var("z"), TensorText("y", "FP32", {2}), TensorText("go", "BOOL", {1}),
                   before, branch(1), branch(2), add}) +
        BlockText(1, 0, {first}) + BlockText(2, 0, {second});
    return Join(Program::FromString(text, "p")->Check({}));
  };
  const auto filled = [](int dim) {
    return OpText("fill_constant", {}, {{"Out", {"x"}}},
                  {{"shape", "ints: " + std::to_string(dim)}, {"dtype", "i: 5"}});
  };
  EXPECT_EQ(problems("", filled(2), filled(2)), "");
  EXPECT_NE(problems("", filled(3), filled(3)), "");
  EXPECT_EQ(problems("", filled(2), filled(3)), "") << "either";
  EXPECT_EQ(problems(filled(2), filled(3), filled(3)), "") << "it may stay as it was";
  const std::string loaded = OpText("load", {}, {{"Out", {"x"}}}, {{"file_path", "s: 'f'"}});
  EXPECT_EQ(problems(loaded, filled(3), filled(3)), "") << "it may stay what is not known";
  const std::string loop =
      OpText("while", {{"Condition", {"go"}}}, {}, {{"sub_block", "block_idx: 1"}});
  const std::string text =
      BlockText(
          0, -1,
          {Var("x"), Var("z"), TensorText("y", "FP32", {2}), TensorText("go", "BOOL", {1}), loop}) +
      BlockText(1, 0, {branch(2), add, filled(2)}) + BlockText(2, 1, {filled(3)});
  EXPECT_EQ(Join(Program::FromString(text, "p")->Check({})), "") << "of the round before";
}

// A tensor that another program left may have been given any value since.
TEST(Inference, TensorsOfOtherProgramsAreUnknown) {
  const auto before =
      Program::FromString(BlockText(0, -1, {TensorText("w", "FP32", {3}, 0, true)}), "before");
  Scope scope;
  *scope.Var("v")->GetMutable<LoDTensor>() = MakeTensor<float>({3}, {1, 2, 3});
  CheckContext context;
  context.before = {before.get()};
  context.scope = &scope;
  for (const char* name : {"w", "v"}) {
    EXPECT_EQ(ProblemsOf({TensorText("y", "FP32", {2}), Var("z"),
                          OpText("sum", {{"X", {name, "y"}}}, {{"Out", {"z"}}})},
                         context),
              "");
  }
}

std::string ReadProgram(const std::string& dtype) {
  return BlockText(0, -1,
                   {TensorText("x", dtype, {-1, 2}),
                    OpText("read", {{"Reader", {"batches"}}}, {{"Out", {"x"}}})});
}

TEST(Inference, ReadersOfOtherProgramsAreKnown) {
  const std::string startup =
      BlockText(0, -1,
                {ReaderText("batches", {{"FP32", {1, 2}}}),
                 OpText("create_random_data_generator", {}, {{"Out", {"batches"}}})});
  const auto before = Program::FromString(startup, "before");
  CheckContext by_program;
  by_program.before = {before.get()};
  Scope scope;
  Executor().Run(before, ProgramRole::kStartup, &scope);
  CheckContext by_scope;
  by_scope.scope = &scope;
  for (const CheckContext& context : {by_program, by_scope}) {
    EXPECT_EQ(Join(Program::FromString(ReadProgram("FP32"), "p")->Check(context)), "");
    const std::string problem =
        Join(Program::FromString(ReadProgram("INT64"), "p")->Check(context));
    EXPECT_NE(problem.find("variable 'x' is declared int64 [-1, 2], but what is written is float32 "
                           "[1, 2]"),
              std::string::npos)
        << problem;
  }
}

// At the end of a pass x stays as it was: [2, 5]. The reader yields [1, 3].
TEST(Inference, WhatAReadMayLeaveAsItWasIsWhatBothAgreeOn) {
  const auto before = Program::FromString(
      BlockText(0, -1,
                {ReaderText("batches", {{"FP32", {1, 3}}}),
                 OpText("create_random_data_generator", {}, {{"Out", {"batches"}}})}),
      "before");
  CheckContext context;
  context.before = {before.get()};
  const std::string read = OpText("read", {{"Reader", {"batches"}}}, {{"Out", {"x"}}});
  const std::string read_or_end =
      OpText("read", {{"Reader", {"batches"}}}, {{"Out", {"x"}}, {"HasData", {"go"}}});
  const std::string add = OpText("sum", {{"X", {"x", "y"}}}, {{"Out", {"z"}}});
  const auto fill = [](const std::string& rows) {
    return OpText("fill_constant", {}, {{"Out", {"x"}}},
                  {{"shape", "ints: [" + rows + ", 5]"}, {"dtype", "i: 5"}});
  };
  const auto problems = [&](const std::string& ops, const std::string& y_dtype = "FP32",
                            const std::string& x = Var("x")) {
    return ProblemsOf(
        {x, Var("z"), TensorText("y", y_dtype, {2, 5}), TensorText("go", "BOOL", {1}), ops},
        context);
  };
  EXPECT_EQ(problems(fill("2") + read_or_end + add), "");
  EXPECT_NE(problems(fill("2") + read + add), "") << "without HasData the end is an error";
  EXPECT_NE(problems(read_or_end + add), "") << "nothing else writes x";
  EXPECT_NE(problems(fill("2") + read_or_end + add, "FP64"), "") << "both are float32";
  EXPECT_NE(problems(fill("2") + read_or_end, "FP32", TensorText("x", "INT64", {})), "");
  EXPECT_EQ(problems(read_or_end + add, "FP32", TensorText("x", "FP32", {-1, -1}, 0, true)), "")
      << "another program may have written it";

  const auto loop = [&](const std::string& ops, const std::string& y_rows) {
    const std::string text =
        BlockText(0, -1,
                  {Var("x"), Var("z"), TensorText("go", "BOOL", {1}), FillText("go", "BOOL", 1),
                   "vars { name: 'y' type { type: LOD_TENSOR lod_tensor { tensor { data_type: FP32 "
                   "dims: " +
                       y_rows + " dims: 5 } } } }",
                   OpText("while", {{"Condition", {"go"}}}, {}, {{"sub_block", "block_idx: 1"}})}) +
        BlockText(1, 0, {ops});
    return Join(Program::FromString(text, "p")->Check(context));
  };
  const std::string product = OpText("mul", {{"X", {"x"}}, {"Y", {"y"}}}, {{"Out", {"z"}}});
  EXPECT_EQ(loop(read_or_end + product, "3"), "");
  const std::string problem = loop(read_or_end + product, "4");
  EXPECT_NE(problem.find("'X' (variable 'x'), float32 [1, 3], has 3 columns"), std::string::npos)
      << problem;
  EXPECT_EQ(loop(read_or_end + product + fill("1"), "4"), "")
      << "x is that of the step before at the end";
}

TEST(Inference, MoreRulesRefuseWhatCannotFit) {
  const std::string x = TensorText("x", "FP32", {4, 3});
  const auto refused = [&](const std::vector<std::string>& parts) {
    std::vector<std::string> all = {x, Var("out"), Var("more")};
    all.insert(all.end(), parts.begin(), parts.end());
    return !ProblemsOf(all).empty();
  };
  const auto reshape = [](const std::string& shape) {
    return OpText("reshape", {{"X", {"x"}}}, {{"Out", {"out"}}}, {{"shape", shape}});
  };
  EXPECT_FALSE(refused({reshape("ints: [2, -1]")}));
  EXPECT_FALSE(refused({reshape("ints: [0, 3]")}));
  EXPECT_TRUE(refused({reshape("ints: [5, -1]")}));
  EXPECT_TRUE(refused({reshape("ints: [4, 4]")}));
  EXPECT_TRUE(refused({reshape("ints: [4, 3, 0]")}));
  const auto top = [](const std::string& k) {
    return OpText("top_k", {{"X", {"x"}}}, {{"Out", {"out"}}, {"Indices", {"more"}}}, {{"k", k}});
  };
  EXPECT_FALSE(refused({top("i: 3")}));
  EXPECT_TRUE(refused({top("i: 4")}));
  const auto loss = [](const std::string& dtype, const std::vector<int64_t>& dims) {
    return TensorText("label", dtype, dims) +
           OpText("cross_entropy", {{"X", {"x"}}, {"Label", {"label"}}}, {{"Y", {"out"}}});
  };
  EXPECT_FALSE(refused({loss("INT64", {4, 1})}));
  EXPECT_FALSE(refused({loss("INT64", {-1, 1})}));
  EXPECT_TRUE(refused({loss("INT64", {4})}));
  EXPECT_TRUE(refused({loss("INT32", {4, 1})}));
  const auto step = [](const std::vector<int64_t>& dims) {
    return TensorText("g", "FP32", dims) + TensorText("rate", "FP32", {1}) +
           OpText("sgd", {{"Param", {"x"}}, {"Grad", {"g"}}, {"LearningRate", {"rate"}}},
                  {{"ParamOut", {"x"}}});
  };
  EXPECT_FALSE(refused({step({4, 3})}));
  EXPECT_TRUE(refused({step({3, 4})}));
}

TEST(Inference, SpecsAreSaidAsFarAsTheyAreKnown) {
  EXPECT_EQ(ToString(TensorSpec()), "unknown");
  EXPECT_EQ(ToString(TensorSpec{DataType::kFp32, std::nullopt, 0}), "float32");
  EXPECT_EQ(ToString(TensorSpec{std::nullopt, Dims{2, -1}, 2}), "[2, -1] with 2 levels of detail");
}

// A program is checked after others that were not: nothing is known of their variables.
TEST(Inference, AProgramBeforeMayBeWrong) {
  const auto before = Program::FromString(
      BlockText(0, -1,
                {ReaderText("batches"), OpText("create_nothing", {}, {{"Out", {"batches"}}}),
                 OpText("create_filter_reader", {{"UnderlyingReader", {"batches"}}},
                        {{"Out", {"filtered"}}},
                        {{"sub_block", "block_idx: 2"},
                         {"source_var_names", "strings: 'x'"},
                         {"sink_var_names", "type: STRINGS"}}),
                 OpText("while", {{"Condition", {"no"}}}, {}, {{"sub_block", "block_idx: 1"}}),
                 OpText("while", {}, {}, {{"sub_block", "block_idx: 1"}}),
                 OpText("while", {}, {}, {{"sub_block", "block_idx: 99"}})}) +
          BlockText(1, 0, {OpText("mul", {}, {{"Out", {"y"}}})}) + BlockText(2, 0, {Var("x")}),
      "before");
  CheckContext context;
  context.before = {before.get()};
  EXPECT_EQ(Join(Program::FromString(ReadProgram("INT64"), "p")->Check(context)), "");
}

}  // namespace
}  // namespace millhopper
