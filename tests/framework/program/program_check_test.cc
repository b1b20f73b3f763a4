// SPDX-License-Identifier: Apache-2.0
// Checking whole programs: right ones, what surrounds a program, and programs without lines. Wrong
// ones are in the tables of tests/programs/malformed.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/program/executor.h"
#include "framework/program/operator.h"
#include "framework/program/program.h"
#include "framework/reader/reader.h"
#include "framework/reader/reader_holder.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

// Reads of the reader "batches" in a block of a loop.
constexpr char kMain[] = R"(blocks {
  idx: 0
  parent_idx: -1
  vars { name: "go" type { type: LOD_TENSOR } }
  vars { name: "x" type { type: LOD_TENSOR } }
  ops {
    type: "while"
    inputs { parameter: "Condition" arguments: "go" }
    attrs { name: "sub_block" block_idx: 1 }
  }
}
blocks {
  idx: 1
  parent_idx: 0
  ops {
    type: "read"
    inputs { parameter: "Reader" arguments: "batches" }
    outputs { parameter: "Out" arguments: "x" }
    outputs { parameter: "HasData" arguments: "go" }
  }
})";

constexpr char kStartup[] = R"(blocks {
  idx: 0
  parent_idx: -1
  vars { name: "batches" type { type: READER reader {
    lod_tensor { tensor { data_type: FP32 dims: [1, 4] } } } } }
  ops { type: "create_random_data_generator" outputs { parameter: "Out" arguments: "batches" } }
})";

std::shared_ptr<const Program> Parse(const std::string& text, const std::string& name = "p") {
  return Program::FromString(text, name);
}

std::string ProblemsOf(const std::shared_ptr<const Program>& program,
                       const CheckContext& context = {}) {
  return Join(program->Check(context));
}

TEST(ProgramCheck, FindsReadersOfProgramsThatRunBefore) {
  const auto startup = Parse(kStartup);
  EXPECT_EQ(ProblemsOf(startup, {ProgramRole::kStartup, {}, nullptr}), "");
  EXPECT_EQ(ProblemsOf(Parse(kMain), {ProgramRole::kMain, {startup.get()}, nullptr}), "");
}

TEST(ProgramCheck, AMainProgramAloneHasNoReaders) {
  EXPECT_EQ(ProblemsOf(Parse(kMain)),
            "p:17:34: operator 'read': reader 'batches' is created by no startup program");
}

TEST(ProgramCheck, FindsReadersAndVariablesOfTheScope) {
  Scope scope;
  const auto main = Parse(kMain);
  const CheckContext context{ProgramRole::kMain, {}, &scope};
  scope.Var("batches")->GetMutable<ReaderHolder>();
  EXPECT_NE(ProblemsOf(main, context), "") << "a holder without a reader";
  Executor().Run(Parse(kStartup), ProgramRole::kStartup, &scope);
  EXPECT_EQ(ProblemsOf(main, context), "");

  Scope inner(&scope);
  EXPECT_EQ(ProblemsOf(main, {ProgramRole::kMain, {}, &inner}), "") << "found in the parent";
}

TEST(ProgramCheck, VariablesOfTheScopeAreOfTheirKind) {
  Scope scope;
  *scope.Var("batches")->GetMutable<LoDTensor>() = MakeTensor<float>({1}, {1});
  EXPECT_EQ(ProblemsOf(Parse(kMain), {ProgramRole::kMain, {}, &scope}),
            "p:17:34: operator 'read': input 'Reader': variable 'batches' must be of type READER");
}

TEST(ProgramCheck, VariablesThatDoNotPersistAreGoneInTheNextProgram) {
  const std::string variables =
      "vars { name: 'kept' type { type: LOD_TENSOR } persistable: true }"
      "vars { name: 'gone' type { type: LOD_TENSOR } }";
  const auto before = Parse("blocks { idx: 0 parent_idx: -1 " + variables + "}");
  const auto program = Parse(
      "blocks { idx: 0 parent_idx: -1\n"
      "ops { type: 'assign' inputs { parameter: 'X' arguments: 'kept' }\n"
      "outputs { parameter: 'Out' arguments: 'gone' } } }");
  EXPECT_EQ(ProblemsOf(program, {ProgramRole::kMain, {before.get()}, nullptr}),
            "p:3:28: operator 'assign': output 'Out': variable 'gone' is not declared");
}

TEST(ProgramCheck, AttributesOfEveryOperatorOfTheLineageAreTaken) {
  EXPECT_EQ(ProblemsOf(Parse(R"(blocks {
    idx: 0
    parent_idx: -1
    vars { name: "x" type { type: LOD_TENSOR } }
    ops {
      type: "mean"
      inputs { parameter: "X" arguments: "x" }
      outputs { parameter: "Out" arguments: "x" }
      attrs { name: "op_role" i: 1 }
      attrs { name: "op_role_var" strings: ["w", "w@GRAD"] }
      attrs { name: "op_namescope" s: "/" }
      attrs { name: "op_callstack" strings: "train.py" }
      attrs { name: "op_device" s: "" }
    }
  })")),
            "");
}

TEST(ProgramCheck, ABinaryProgramIsCheckedWithNumbersForPlaces) {
  const std::string text = R"(blocks {
    idx: 0
    parent_idx: -1
    vars { name: "x" type { type: FP32 } }
    ops { type: "mean" inputs { parameter: "X" arguments: "y" } }
    ops { type: "no_such_thing" }
  }
  blocks {
    idx: 1
    parent_idx: 0
    ops { type: "reset" inputs { parameter: "Reader" arguments: "x" } }
    vars { name: "x" type { type: LOD_TENSOR } }
  })";
  const auto binary = Program::FromString(Parse(text)->ToBinary(), "p.bin");
  EXPECT_EQ(ProblemsOf(binary),
            "p.bin: variable 'x' of block 0: type FP32 is an element type; a variable is a "
            "LOD_TENSOR, a READER ...\n"
            "p.bin: operator 0 of block 0 ('mean'): output 'Out' is missing ([1], type of X)\n"
            "p.bin: operator 0 of block 0 ('mean'): input 'X': variable 'y' is not declared; did "
            "you mean 'x'?\n"
            "p.bin: operator 1 of block 0 ('no_such_thing'): no such operator\n"
            "p.bin: operator 0 of block 1 ('reset'): input 'Reader': variable 'x' must be of type "
            "READER, not LOD_TENSOR");
}

TEST(ProgramCheck, CheckOrThrowTellsAllProblemsAtOnce) {
  const auto program = Parse(
      "blocks { idx: 0 parent_idx: -1\nops { type: 'no_such_thing' }\nops { type: 'no_other' } }");
  try {
    program->CheckOrThrow({});
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(error.message(),
              "p:2:1: operator 'no_such_thing': no such operator\n"
              "p:3:1: operator 'no_other': no such operator");
  }
}

TEST(ProgramCheck, CreatesNothingInTheScope) {
  Scope scope;
  ProblemsOf(Parse(kMain), {ProgramRole::kMain, {}, &scope});
  EXPECT_TRUE(scope.LocalNames().empty());
}

TEST(ProgramCheck, AHugeProgramIsCheckedInReasonableTime) {
  std::string text = "blocks { idx: 0 parent_idx: -1 ";
  for (int i = 0; i < 5000; ++i) {
    text += "ops { type: 'mean' inputs { parameter: 'X' arguments: 'x" + std::to_string(i) +
            "' } outputs { parameter: 'Out' arguments: 'y' } } vars { name: 'v" +
            std::to_string(i) + "' type { type: LOD_TENSOR } }";
  }
  const std::vector<Problem> problems = Parse(text + "}")->Check({});
  EXPECT_EQ(problems.size(), kMaxProblems + 1);
  EXPECT_EQ(problems.back().text, "p: and 9000 more problems");
}

// The search for similar names takes a bounded time, for all names together.
TEST(ProgramCheck, ManyMisspeltNamesAmongManyVariables) {
  const auto name = [](int i) {
    std::string letters;
    uint64_t state = static_cast<uint64_t>(i) * 2654435761u + 1;
    for (int k = 0; k < 100; ++k) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      letters += static_cast<char>('a' + (state >> 33) % 3);
    }
    return letters;
  };
  std::string text = "blocks { idx: 0 parent_idx: -1 vars { name: 'y' type { type: LOD_TENSOR } } ";
  for (int i = 0; i < 50000; ++i) {
    text += "vars { name: '" + name(i) + "' type { type: LOD_TENSOR } } ";
  }
  for (int i = 0; i < 100; ++i) {
    text += "ops { type: 'mean' inputs { parameter: 'X' arguments: '" + name(-i - 1) +
            "' } outputs { parameter: 'Out' arguments: 'y' } } ";
  }
  const std::vector<Problem> problems = Parse(text + "}")->Check({});
  ASSERT_EQ(problems.size(), 100u);
  const std::string last = problems.back().text;
  EXPECT_EQ(last.substr(last.size() - 15), "is not declared")
      << "no time was left to look for others";
}

}  // namespace
}  // namespace millhopper
