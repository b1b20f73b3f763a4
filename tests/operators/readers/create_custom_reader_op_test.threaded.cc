// SPDX-License-Identifier: Apache-2.0
// The operator create_custom_reader.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/program/operator.h"
#include "framework/program/operator_run.h"
#include "framework/program/program.h"
#include "proto/framework.pb.h"
#include "tests/fakes/sources.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

std::unique_ptr<ReaderBase> Numbers(int64_t records, int64_t load_error = -1, bool ragged = false) {
  SourceSpec spec;
  spec.records = records;
  spec.load_error = load_error;
  spec.ragged = ragged;
  spec.jitter = 5;
  return MakePlannedSource(spec);
}

std::string Custom(const std::vector<std::string>& block, const std::string& sources = "n",
                   const std::string& sinks = "y", const std::vector<std::string>& before = {},
                   const std::vector<std::string>& after = {}) {
  std::vector<std::string> parts = {ReaderText("source"), ReaderText("out"),
                                    TensorText("factor", "INT64", {1}, 0, true)};
  parts.insert(parts.end(), before.begin(), before.end());
  parts.push_back(OpText("create_custom_reader", {{"UnderlyingReader", {"source"}}},
                         {{"Out", {"out"}}},
                         {{"sub_block", "block_idx: 1"},
                          {"source_var_names", "strings: \"" + sources + "\""},
                          {"sink_var_names", "strings: \"" + sinks + "\""}}));
  parts.insert(parts.end(), after.begin(), after.end());
  return BlockText(0, -1, parts) + BlockText(1, 0, block);
}

// y = n * factor.
const std::vector<std::string> kTimesFactor = {
    TensorText("n", "INT64", {1, 1}), TensorText("y", "INT64", {1, 1}),
    OpText("elementwise_mul", {{"X", {"n"}}, {"Y", {"factor"}}}, {{"Out", {"y"}}})};

std::vector<int64_t> NumbersOf(const std::vector<ElementValue>& elements) {
  std::vector<int64_t> numbers;
  for (const ElementValue& element : elements) {
    int64_t number = 0;
    std::memcpy(&number, element[0].bytes.data(), sizeof(number));
    numbers.push_back(number);
  }
  return numbers;
}

TEST(CreateCustomReaderOp, EqualsRunningTheBlockByHandInOrderWithAnyNumberOfThreads) {
  std::vector<int64_t> expected;
  for (int64_t n = 0; n < 300; ++n) expected.push_back(3 * n);
  for (const int threads : {0, 1, 2, 7}) {
    PoolSize size(threads);
    ProgramRunner runner;
    runner.Reader("source").Reset(Numbers(300));
    runner.Startup(Custom(kTimesFactor, "n", "y", {FillText("factor", "INT64", 3)}));
    EXPECT_EQ(NumbersOf(runner.ReadAllOf("out")), expected) << threads << " threads";
    // Below a batch reader, workers run the block in parallel.
    runner.Reader("source").Reset(Numbers(300));
    runner.Startup(Custom(
        kTimesFactor, "n", "y", {FillText("factor", "INT64", 3)},
        {ReaderText("batches"), OpText("create_batch_reader", {{"UnderlyingReader", {"out"}}},
                                       {{"Out", {"batches"}}}, {{"batch_size", "i: 300"}})}));
    std::vector<LoDTensor> batch;
    runner.Reader("batches").ReadNext(&batch);
    EXPECT_EQ(ValuesOf<int64_t>(batch[0]), expected) << threads << " threads";
  }
}

TEST(CreateCustomReaderOp, ReadsOuterVariablesAsTheyWereWhenItWasCreated) {
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers(3));
  runner.Startup(Custom(kTimesFactor, "n", "y", {FillText("factor", "INT64", 10)},
                        {FillText("factor", "INT64", 99)}));
  *runner.scope().Find("factor")->GetMutable<LoDTensor>()->Allocate<int64_t>({1}) = 77;
  EXPECT_EQ(NumbersOf(runner.ReadAllOf("out")), (std::vector<int64_t>{0, 10, 20}));
}

TEST(CreateCustomReaderOp, OutlivesTheScopeAndTheProgramItWasCreatedIn) {
  std::unique_ptr<ReaderBase> handle;
  {
    ProgramRunner runner;
    runner.Reader("source").Reset(Numbers(3));
    runner.Startup(Custom(kTimesFactor, "n", "y", {FillText("factor", "INT64", 2)}));
    handle = runner.Reader("out").NewHandle();
  }
  EXPECT_EQ(NumbersOf(ReadAll(handle.get())), (std::vector<int64_t>{0, 2, 4}));
}

TEST(CreateCustomReaderOp, GoesOnWithTheSameBlockOnly) {
  const std::vector<std::string> before = {FillText("factor", "INT64", 2)};
  const auto made = [](const std::string& program) {
    auto runner = std::make_unique<ProgramRunner>();
    runner->Reader("source").Reset(Numbers(20));
    runner->Startup(program);
    return runner;
  };
  const std::string program = Custom(kTimesFactor, "n", "y", before);
  const std::string position = [&] {
    const auto runner = made(program);
    const std::unique_ptr<ReaderBase> reader = runner->Reader("out").NewHandle();
    reader->ExpectSave();
    ReadSome(reader.get(), 5);
    return reader->Save().Serialize();
  }();
  const auto resume_at = [&](const std::string& text) {
    const auto runner = made(text);
    const std::unique_ptr<ReaderBase> reader = runner->Reader("out").NewHandle();
    reader->Restore(Position::Parse(position));
    return NumbersOf(ReadAll(reader.get()));
  };
  EXPECT_EQ(resume_at(program).size(), 15u);
  // The number of the block does not matter.
  std::string second = Custom({}, "n", "y", before) + BlockText(2, 0, kTimesFactor);
  const std::string number = "block_idx: 1";
  second.replace(second.find(number), number.size(), "block_idx: 2");
  EXPECT_EQ(resume_at(second).front(), 10);
  std::vector<std::string> other = kTimesFactor;
  other[2] = OpText("elementwise_add", {{"X", {"n"}}, {"Y", {"factor"}}}, {{"Out", {"y"}}});
  ExpectError(ErrorCode::kInvalidArgument, "create_custom_reader 'out': function was ",
              [&] { resume_at(Custom(other, "n", "y", before)); });
  ExpectError(ErrorCode::kInvalidArgument,
              "sink: ", [&] { resume_at(Custom(kTimesFactor, "n", "n", before)); });
}

TEST(CreateCustomReaderOp, KeepsTheLevelsOfDetailOfSinks) {
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers(4, -1, true));
  runner.Startup(Custom({TensorText("n", "INT64", {-1, 1}, 1), TensorText("y", "INT64", {-1, 1}, 1),
                         OpText("assign", {{"X", {"n"}}}, {{"Out", {"y"}}})}));
  EXPECT_EQ(runner.ReadAllOf("out"), ReadAll(Numbers(4, -1, true).get()));
  EXPECT_EQ(runner.Reader("out").slots()[0].lod_level, 1);
}

TEST(CreateCustomReaderOp, RunsBlocksWithinItsBlock) {
  // y = n if n < 2, else 100.
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers(4));
  runner.Startup(
      Custom({TensorText("n", "INT64", {1, 1}), TensorText("y", "INT64", {1, 1}),
              TensorText("two", "INT64", {1, 1}), TensorText("small", "BOOL", {1, 1}),
              OpText("fill_constant", {}, {{"Out", {"two"}}},
                     {{"shape", "ints: 1 ints: 1"}, {"dtype", "i: 3"}, {"value", "f: 2"}}),
              OpText("less_than", {{"X", {"n"}}, {"Y", {"two"}}}, {{"Out", {"small"}}}),
              OpText("if_else", {{"Cond", {"small"}}}, {},
                     {{"true_block", "block_idx: 2"}, {"false_block", "block_idx: 3"}})}) +
      BlockText(2, 1, {OpText("assign", {{"X", {"n"}}}, {{"Out", {"y"}}})}) +
      BlockText(3, 1,
                {OpText("fill_constant", {}, {{"Out", {"y"}}},
                        {{"shape", "ints: 1 ints: 1"}, {"dtype", "i: 3"}, {"value", "f: 100"}})}));
  EXPECT_EQ(NumbersOf(runner.ReadAllOf("out")), (std::vector<int64_t>{0, 1, 100, 100}));
}

// Adds 1. Two of it in a row are run as one, which adds 100, so that it shows; but not of 5. In a
// block of more than three, others ask for the dims of what the first one makes, which are not
// known of 6.
class TwoBumps final : public FusedOperators {
 public:
  TwoBumps(Variable* source, Variable* between, Variable* result)
      : source_(source), between_(between), result_(result) {}

  void AppendTo(Rows*, size_t) override {}
  bool Outline() override {
    if (Number() == 6) return false;
    between_->GetMutable<LoDTensor>()->Outline(DataType::kInt64, {1, 1});
    return true;
  }
  bool Run() override {
    const int64_t number = Number();
    if (number == 5) return false;
    *result_->GetMutable<LoDTensor>()->Allocate<int64_t>({1, 1}) = number + 100;
    return true;
  }
  void Clear() override {}

 private:
  int64_t Number() const { return source_->Get<LoDTensor>().scalar<int64_t>(); }

  Variable* const source_;
  Variable* const between_;
  Variable* const result_;
};

std::optional<OperatorRun> FuseBumps(const Program& program, int block, int op,
                                     const std::vector<std::string>&) {
  const auto& ops = program.desc().blocks(block).ops();
  if (op + 1 == ops.size() || ops[op].type() != ops[op + 1].type()) return std::nullopt;
  OperatorRun run;
  run.ops = {static_cast<size_t>(op), static_cast<size_t>(op) + 1};
  run.source = ops[op].inputs(0).arguments(0);
  run.result = ops[op + 1].outputs(0).arguments(0);
  run.outlined = ops.size() > 3 ? 1 : 0;
  run.prepare = [source = run.source, between = ops[op].outputs(0).arguments(0),
                 result = run.result](Scope* scope, const RunState*) {
    return std::make_unique<TwoBumps>(scope->Find(source), scope->Find(between),
                                      scope->Find(result));
  };
  return run;
}

OpSchema BumpSchema() {
  return OpSchema("Adds 1.")
      .Input("X", "int64 [1, 1]")
      .Output("Out", "the same")
      .Rewrite(FuseBumps);
}

void Bump(OpContext& context) {
  const int64_t number = context.In("X").scalar<int64_t>();
  *context.Out("Out")->Allocate<int64_t>({1, 1}) = number + 1;
}

REGISTER_OPERATOR(custom_test_bump, BumpSchema, Bump);

// Of three in a row the first two are one run; the second one begins no other.
TEST(CreateCustomReaderOp, RunsOperatorsAsOneWhereTheirSchemaHasAWay) {
  const auto bump = [](const std::string& in, const std::string& out) {
    return OpText("custom_test_bump", {{"X", {in}}}, {{"Out", {out}}});
  };
  const std::string text =
      Custom({TensorText("n", "INT64", {1, 1}), TensorText("a", "INT64", {1, 1}),
              TensorText("b", "INT64", {1, 1}), TensorText("y", "INT64", {1, 1}), bump("n", "a"),
              bump("a", "b"), bump("b", "y")});
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers(3));
  runner.Startup(text);
  EXPECT_EQ(NumbersOf(runner.ReadAllOf("out")), (std::vector<int64_t>{101, 102, 103}));
  const auto program = Program::FromString(text, "startup.pbtxt");
  EXPECT_EQ(FindOperator("create_custom_reader")->schema.explain(*program, 0, 0),
            (std::vector<std::string>{"block 1: custom_test_bump, custom_test_bump are run as one, "
                                      "from 'n' to 'b'"}));
}

// What cannot be run as one is run one after another, before or after others have seen its dims.
TEST(CreateCustomReaderOp, RunsOperatorsOneByOneWhereTheyCannotBeRunAsOne) {
  const auto bump = [](const std::string& in, const std::string& out) {
    return OpText("custom_test_bump", {{"X", {in}}}, {{"Out", {out}}});
  };
  std::vector<std::string> texts;
  for (const char* const name : {"n", "a", "b", "c", "y"}) {
    texts.push_back(TensorText(name, "INT64", {1, 1}));
  }
  for (const std::string& op : {bump("n", "a"), bump("a", "b"), bump("b", "y")})
    texts.push_back(op);
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers(7));
  runner.Startup(Custom(texts));
  EXPECT_EQ(NumbersOf(runner.ReadAllOf("out")),
            (std::vector<int64_t>{101, 102, 103, 104, 105, 8, 107}));
  // Two pairs: the second one takes what the first one makes, which is neither 5 nor 6.
  texts.back() = bump("b", "c");
  texts.push_back(bump("c", "y"));
  runner.Reader("source").Reset(Numbers(7));
  runner.Startup(Custom(texts));
  EXPECT_EQ(NumbersOf(runner.ReadAllOf("out")),
            (std::vector<int64_t>{200, 201, 202, 203, 204, 107, 108}));
}

TEST(CreateCustomReaderOp, LetsAnErrorTakeThePlaceOfItsElement) {
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers(5));
  // For n = 2 the block reads y before it has a value.
  runner.Startup(
      Custom({TensorText("n", "INT64", {1, 1}), TensorText("y", "INT64", {1, 1}),
              TensorText("two", "INT64", {1, 1}), TensorText("is_two", "BOOL", {1, 1}),
              OpText("fill_constant", {}, {{"Out", {"two"}}},
                     {{"shape", "ints: 1 ints: 1"}, {"dtype", "i: 3"}, {"value", "f: 2"}}),
              OpText("equal", {{"X", {"n"}}, {"Y", {"two"}}}, {{"Out", {"is_two"}}}),
              OpText("if_else", {{"Cond", {"is_two"}}}, {},
                     {{"true_block", "block_idx: 2"}, {"false_block", "block_idx: 3"}})}) +
      BlockText(2, 1, {OpText("increment", {{"X", {"y"}}}, {{"Out", {"y"}}})}) +
      BlockText(3, 1, {OpText("assign", {{"X", {"n"}}}, {{"Out", {"y"}}})}));
  const std::unique_ptr<ReaderBase> reader = runner.Reader("out").NewHandle();
  EXPECT_EQ(NumbersOf(ReadSome(reader.get(), 2)), (std::vector<int64_t>{0, 1}));
  const std::optional<Thrown> thrown = ErrorOf([&] { ReadSome(reader.get(), 1); });
  ASSERT_TRUE(thrown);
  EXPECT_NE(thrown->text.find("variable 'y' has no value yet"), std::string::npos) << thrown->text;
  EXPECT_NE(thrown->text.find("while running operator 'increment' (startup.pbtxt:"),
            std::string::npos)
      << thrown->text;
  EXPECT_NE(thrown->text.find("while processing element 2 in reader 'out' (create_custom_reader, "
                              "startup.pbtxt:"),
            std::string::npos)
      << thrown->text;
  EXPECT_EQ(ErrorOf([&] { ReadSome(reader.get(), 1); }), thrown);
}

TEST(CreateCustomReaderOp, RefusesSourcesAndSinksThatDoNotFit) {
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers(3));
  const std::vector<std::string> fill = {FillText("factor", "INT64", 1)};
  ExpectError(ErrorCode::kInvalidArgument,
              "attribute 'source_var_names' names 'm', but block 1 does not declare it",
              [&] { runner.Startup(Custom(kTimesFactor, "m", "y", fill)); });
  ExpectError(ErrorCode::kInvalidArgument, "attribute 'sink_var_names' names 'z'",
              [&] { runner.Startup(Custom(kTimesFactor, "n", "z", fill)); });
  runner.ExpectProblem(Custom(kTimesFactor, "m", "y", fill),
                       "attribute 'source_var_names' names 'm', but block 1 does not declare it");
  runner.ExpectProblem(Custom(kTimesFactor, "n", "z", fill),
                       "attribute 'sink_var_names' names 'z', but block 1 does not declare it");
  ExpectError(ErrorCode::kInvalidArgument, "attribute 'source_var_names' has 2 names, but",
              [&] { runner.Startup(Custom(kTimesFactor, "n\" strings: \"y", "y", fill)); });
  ExpectError(ErrorCode::kInvalidArgument, "attribute 'source_var_names' names a variable twice",
              [&] { runner.Startup(Custom(kTimesFactor, "n\" strings: \"n", "y", fill)); });
  ExpectError(ErrorCode::kInvalidArgument,
              "variable 'factor', which the block reads, has no value when the reader is created",
              [&] {
                ProgramRunner other;
                other.Reader("source").Reset(Numbers(3));
                other.Startup(Custom(kTimesFactor));
              });
}

TEST(CreateCustomReaderOp, ChecksResultsAgainstTheDeclaredSinks) {
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers(3));
  const std::string n = TensorText("n", "INT64", {1, 1});
  const std::string assign = OpText("assign", {{"X", {"n"}}}, {{"Out", {"y"}}});
  runner.ExpectProblem(Custom({n, TensorText("y", "FP32", {1, 1}), assign}),
                       "operator 'assign': output 'Out': variable 'y' is declared float32 [1, 1], "
                       "but what is written is int64 [1, 1]");
  // A fault that only the elements show is found when they are read.
  runner.Reader("source").Reset(Numbers(3, -1, true));
  runner.Startup(
      Custom({TensorText("n", "INT64", {-1, 1}, 1), TensorText("y", "INT64", {7, 1}, 1), assign}));
  ExpectError(ErrorCode::kDataLoss,
              "slot 0: int64 [7, 1] with 1 level of detail is declared, int64 [",
              [&] { runner.ReadAllOf("out"); });
}

TEST(CreateCustomReaderOp, KnowsSinksThatAreNotDeclared) {
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers(3));
  const auto var = [](const std::string& name) {
    return "vars { name: '" + name + "' type { type: LOD_TENSOR } }\n";
  };
  runner.Startup(Custom({var("n"), var("y"),
                         OpText("cast", {{"X", {"n"}}}, {{"Out", {"y"}}},
                                {{"in_dtype", "i: 3"}, {"out_dtype", "i: 5"}})},
                        "n", "y"));
  EXPECT_EQ(runner.Reader("out").slots(), (std::vector<SlotSpec>{{DataType::kFp32, {1, 1}, 0}}));
  EXPECT_EQ(runner.ReadAllOf("out").size(), 3u);
  // What no operator says of a sink must be declared.
  ExpectError(ErrorCode::kInvalidArgument,
              "the sink 'y' must declare its type { type: LOD_TENSOR lod_tensor { ... } }: what is "
              "known of it before it runs is unknown",
              [&] {
                runner.Startup(Custom({var("n"), var("y")}));
              });
}

TEST(CreateCustomReaderOp, RefusesBlocksThatReachOutsideWhenChecked) {
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers(3));
  const std::string n = TensorText("n", "INT64", {1, 1});
  runner.ExpectProblem(
      Custom({n, TensorText("y", "INT64", {1, 1}),
              OpText("assign", {{"X", {"n"}}}, {{"Out", {"y"}}}),
              OpText("print", {{"In", {"n"}}}, {})}),
      "operator 'print': has side effects, so it cannot be in the block of 'create_custom_reader'");
  runner.ExpectProblem(
      Custom({n, OpText("assign", {{"X", {"n"}}}, {{"Out", {"factor"}}})}, "n", "n"),
      "variable 'factor' is not a variable of the block of 'create_custom_reader'");
  runner.ExpectProblem(Custom({n, TensorText("y", "INT64", {1, 1}, 0, true)}, "n", "n"),
                       "outlives its run");
}

}  // namespace
}  // namespace millhopper
