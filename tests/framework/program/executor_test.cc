// SPDX-License-Identifier: Apache-2.0
// Preparing blocks and running them: binding, fresh variables, errors with their places, stops.
#include "framework/program/executor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "framework/program/operator.h"
#include "framework/program/program.h"
#include "framework/program/scope.h"

namespace millhopper {
namespace {

int64_t ValueOf(const LoDTensor& tensor) { return tensor.data<int64_t>()[0]; }

void Write(LoDTensor* tensor, int64_t value) { tensor->Allocate<int64_t>({1})[0] = value; }

OpSchema SetSchema() {
  return OpSchema("Writes a number.")
      .Output("Out", "the number")
      .Attr({"value", int64_t{7}, "what is written"});
}
void Set(OpContext& context) { Write(context.Out("Out"), context.Attr<int64_t>("value")); }
REGISTER_OPERATOR(executor_test_set, SetSchema, Set);

OpSchema AddSchema() {
  return OpSchema("Adds numbers.").Inputs("X", "the numbers").Output("Out", "their sum");
}
void Add(OpContext& context) {
  int64_t sum = 0;
  for (size_t i = 0; i < context.InCount("X"); ++i) sum += ValueOf(context.In("X", i));
  Write(context.Out("Out"), sum);
}
REGISTER_OPERATOR(executor_test_add, AddSchema, Add);

OpSchema RepeatSchema() {
  return OpSchema("Runs a block several times.")
      .Attr(AttributeSchema("sub_block", BlockIndex{}, "what is run").Required())
      .Attr({"times", int32_t{1}, "how often"});
}
void Repeat(OpContext& context) {
  for (int32_t i = 0; i < context.Attr<int32_t>("times"); ++i) {
    ++context.run().steps;
    context.Block("sub_block").Run();
  }
}
REGISTER_OPERATOR(executor_test_repeat, RepeatSchema, Repeat);

// Whether a variable had a value when the operator ran, counted in another.
OpSchema CountFreshSchema() {
  return OpSchema("Counts how often X had no value, then gives it one.")
      .OptionalInput("X", "looked at")
      .Output("Touched", "the same variable")
      .Output("Count", "one more for each time without a value");
}
void CountFresh(OpContext& context) {
  if (!context.InVar("X").has_value()) {
    Write(context.Out("Count"), ValueOf(*context.Out("Count")) + 1);
  }
  Write(context.Out("Touched"), 1);
}
REGISTER_OPERATOR(executor_test_count_fresh, CountFreshSchema, CountFresh);

OpSchema ThrowSchema() {
  return OpSchema("Throws.").Attr({"what", std::string("error"), "what is thrown"});
}
void ThrowAsTold(OpContext& context) {
  const auto& what = context.Attr<std::string>("what");
  if (what == "end") throw EndOfData("there is no next element");
  if (what == "foreign") throw std::runtime_error("from elsewhere");
  if (what == "stop") RequestStop();
  if (what == "error") Throw(ErrorCode::kDataLoss, "it is broken");
}
REGISTER_OPERATOR(executor_test_throw, ThrowSchema, ThrowAsTold);

std::shared_ptr<const Program> Parse(const std::string& text) {
  return Program::FromString(text, "main.pbtxt");
}

constexpr char kVariable[] = R"(vars { name: "$" type { type: LOD_TENSOR } })";

std::string Variable64(const std::string& name, bool persistable = false) {
  std::string text = kVariable;
  text.replace(text.find('$'), 1, name);
  if (persistable) text.insert(text.size() - 1, "persistable: true ");
  return text + "\n";
}

TEST(Executor, RunsOperatorsInOrderAndFillsInDefaults) {
  const auto program = Parse("blocks { idx: 0 parent_idx: -1\n" + Variable64("a") +
                             Variable64("b") + Variable64("c") + R"(
    ops { type: "executor_test_set" outputs { parameter: "Out" arguments: "a" } }
    ops { type: "executor_test_set" outputs { parameter: "Out" arguments: "b" }
          attrs { name: "value" i: 30 } }
    ops { type: "executor_test_add" inputs { parameter: "X" arguments: ["a", "b", "b"] }
          outputs { parameter: "Out" arguments: "c" } }
  })");
  Scope scope;
  PreparedProgram prepared(program, &scope, {});
  prepared.Run();
  EXPECT_EQ(ValueOf(prepared.Find("c")->Get<LoDTensor>()), 67);
  EXPECT_EQ(scope.FindLocal("c"), nullptr);
}

TEST(Executor, PersistableVariablesOutliveTheRunInTheRootScope) {
  const auto program = Parse("blocks { idx: 0 parent_idx: -1\n" + Variable64("w", true) + R"(
    ops { type: "executor_test_set" outputs { parameter: "Out" arguments: "w" } } })");
  Scope root;
  Scope inner(&root);
  Executor().Run(program, ProgramRole::kMain, &inner);
  ASSERT_NE(root.FindLocal("w"), nullptr);
  EXPECT_EQ(ValueOf(root.FindLocal("w")->Get<LoDTensor>()), 7);
}

TEST(Executor, BindsUndeclaredNamesToVariablesOfTheScope) {
  const auto program = Parse("blocks { idx: 0 parent_idx: -1\n" + Variable64("b") + R"(
    ops { type: "executor_test_add" inputs { parameter: "X" arguments: "given" }
          outputs { parameter: "Out" arguments: "b" } } })");
  Scope scope;
  Write(scope.Var("given")->GetMutable<LoDTensor>(), 5);
  PreparedProgram prepared(program, &scope, {});
  prepared.Run();
  EXPECT_EQ(ValueOf(prepared.Find("b")->Get<LoDTensor>()), 5);
}

TEST(Executor, VariablesOfASubBlockAreFreshInEveryRunOfIt) {
  const auto program = Parse("blocks { idx: 0 parent_idx: -1\n" + Variable64("count") + R"(
    ops { type: "executor_test_set" outputs { parameter: "Out" arguments: "count" }
          attrs { name: "value" l: 0 } }
    ops { type: "executor_test_repeat" attrs { name: "sub_block" block_idx: 1 }
          attrs { name: "times" i: 4 } } }
  blocks { idx: 1 parent_idx: 0 )" +
                             Variable64("x") + R"(
    ops { type: "executor_test_count_fresh" inputs { parameter: "X" arguments: "x" }
          outputs { parameter: "Touched" arguments: "x" }
          outputs { parameter: "Count" arguments: "count" } } })");
  Scope scope;
  PreparedProgram prepared(program, &scope, {});
  prepared.Run();
  EXPECT_EQ(ValueOf(prepared.Find("count")->Get<LoDTensor>()), 4);
  EXPECT_EQ(prepared.run().steps, 4);
  prepared.Run();
  EXPECT_EQ(prepared.run().steps, 4) << "the counter of steps begins anew";
}

constexpr char kThrows[] = R"(blocks {
  idx: 0 parent_idx: -1
  ops { type: "executor_test_repeat" attrs { name: "sub_block" block_idx: 1 } }
}
blocks {
  idx: 1 parent_idx: 0
  ops { type: "executor_test_throw" attrs { name: "what" s: "${what}" } }
})";

TEST(Executor, ErrorsNameTheInnermostOperator) {
  Scope scope;
  PreparedProgram prepared(Program::FromString(kThrows, "main.pbtxt", {{"what", "error"}}), &scope,
                           {});
  try {
    prepared.Run();
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDataLoss);
    EXPECT_STREQ(error.what(),
                 "it is broken\n"
                 "  while running operator 'executor_test_throw' (main.pbtxt:7, block 1)");
  }
}

TEST(Executor, ErrorsInBinaryProgramsNameTheOperatorByNumber) {
  const auto text = Program::FromString(kThrows, "main.pbtxt", {{"what", "error"}});
  Scope scope;
  PreparedProgram prepared(Program::FromString(text->ToBinary(), "main.bin"), &scope, {});
  try {
    prepared.Run();
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.context()[0],
              "while running operator 'executor_test_throw' (main.bin: operator 0 of block 1)");
  }
}

TEST(Executor, TheEndOfDataStaysTheEndOfData) {
  Scope scope;
  PreparedProgram prepared(Program::FromString(kThrows, "main.pbtxt", {{"what", "end"}}), &scope,
                           {});
  try {
    prepared.Run();
    FAIL() << "nothing was thrown";
  } catch (const EndOfData& end) {
    EXPECT_EQ(end.context().size(), 1u);
  }
}

TEST(Executor, ForeignExceptionsBecomeInternalErrors) {
  Scope scope;
  PreparedProgram prepared(Program::FromString(kThrows, "main.pbtxt", {{"what", "foreign"}}),
                           &scope, {});
  try {
    prepared.Run();
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInternal);
    EXPECT_EQ(error.message(), "from elsewhere");
    EXPECT_EQ(error.context().size(), 1u);
  }
}

TEST(Executor, StopsBetweenOperatorsWhenAsked) {
  const auto program = Parse("blocks { idx: 0 parent_idx: -1\n" + Variable64("a", true) + R"(
    ops { type: "executor_test_throw" attrs { name: "what" s: "stop" } }
    ops { type: "executor_test_set" outputs { parameter: "Out" arguments: "a" } } })");
  Scope scope;
  PreparedProgram prepared(program, &scope, {});
  try {
    prepared.Run();
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
  }
  ClearStop();
  EXPECT_FALSE(scope.FindLocal("a")->has_value()) << "nothing ran behind the stop";
}

TEST(Executor, SaysWhatCannotBePrepared) {
  const auto message = [](const std::string& op) -> std::string {
    Scope scope;
    try {
      PreparedProgram(Parse("blocks { idx: 0 parent_idx: -1\n" + op + "}"), &scope, {});
    } catch (const Error& error) {
      return error.message();
    }
    return "nothing was thrown";
  };
  EXPECT_EQ(message(R"(ops { type: "executor_test_sett" })"),
            "main.pbtxt:2:1: operator 'executor_test_sett': no such operator; did you mean "
            "'executor_test_set'?");
  EXPECT_EQ(message(R"(ops { type: "executor_test_set"
                             outputs { parameter: "Out" arguments: "a" } })"),
            "main.pbtxt:3:57: operator 'executor_test_set': no variable 'a'");
  EXPECT_EQ(message(R"(ops { type: "executor_test_set" })"),
            "main.pbtxt:2:1: operator 'executor_test_set': output 'Out' is missing (the number)");
  EXPECT_EQ(message(R"(ops { type: "executor_test_repeat"
                             attrs { name: "sub_block" block_idx: 3 } })"),
            "main.pbtxt:2:1: operator 'executor_test_repeat': attribute 'sub_block': block 3 is no "
            "block inside block 0");
}

}  // namespace
}  // namespace millhopper
