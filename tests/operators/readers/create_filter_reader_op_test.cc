// SPDX-License-Identifier: Apache-2.0
// The operator create_filter_reader.
#include <gtest/gtest.h>

#include "tests/fakes/sources.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

std::unique_ptr<ReaderBase> Numbers(int64_t records, int64_t load_error = -1) {
  SourceSpec spec;
  spec.records = records;
  spec.load_error = load_error;
  spec.jitter = 5;
  return MakePlannedSource(spec);
}

// Keeps the elements below `limit`.
std::string Filter(const std::string& sinks = "strings: \"keep\"",
                   const std::vector<int64_t>& dims = {1, 1}) {
  return BlockText(
             0, -1,
             {ReaderText("source"), ReaderText("out"), TensorText("limit", "INT64", {1}, 0, true),
              FillText("limit", "INT64", 150),
              OpText("create_filter_reader", {{"UnderlyingReader", {"source"}}}, {{"Out", {"out"}}},
                     {{"sub_block", "block_idx: 1"},
                      {"source_var_names", "strings: \"n\""},
                      {"sink_var_names", sinks}})}) +
         BlockText(1, 0,
                   {TensorText("n", "INT64", dims, dims[0] < 0),
                    TensorText("keep", "BOOL", dims, dims[0] < 0),
                    OpText("less_than", {{"X", {"n"}}, {"Y", {"limit"}}}, {{"Out", {"keep"}}})});
}

TEST(CreateFilterReaderOp, YieldsWhatTheBlockKeepsInOrderWithAnyNumberOfThreads) {
  std::vector<ElementValue> expected = ReadAll(Numbers(300).get());
  expected.resize(150);
  for (const int threads : {0, 1, 2, 7}) {
    const PoolSize size(threads);
    ProgramRunner runner;
    runner.Reader("source").Reset(Numbers(300));
    runner.Startup(Filter());
    for (int pass = 0; pass < 2; ++pass) {
      EXPECT_EQ(runner.ReadAllOf("out"), expected) << threads << " threads";
      runner.Reader("out").ReInit();
    }
    EXPECT_EQ(runner.Reader("out").slots()[0].dims, Dims({1, 1}));
  }
}

TEST(CreateFilterReaderOp, GoesOnWithTheSameBlockOnly) {
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers(300));
  runner.Startup(Filter());
  const std::unique_ptr<ReaderBase> saved = runner.Reader("out").NewHandle();
  saved->ExpectSave();
  ReadSome(saved.get(), 100);
  const Position position = saved->Save();
  std::string other = Filter();
  const std::string less_than = "less_than";
  for (const bool same : {true, false}) {
    if (!same) other.replace(other.find(less_than), less_than.size(), "less_equal");
    ProgramRunner resumed;
    resumed.Reader("source").Reset(Numbers(300));
    resumed.Startup(other);
    const std::unique_ptr<ReaderBase> reader = resumed.Reader("out").NewHandle();
    if (same) {
      reader->Restore(position);
      EXPECT_EQ(ReadAll(reader.get()).size(), 50u);
    } else {
      ExpectError(ErrorCode::kInvalidArgument, "create_filter_reader 'out': function was ",
                  [&] { reader->Restore(position); });
    }
  }
}

TEST(CreateFilterReaderOp, MayLeaveEverythingOut) {
  SourceSpec spec;
  spec.records = 1000;
  ProgramRunner runner;
  runner.Reader("source").Reset(MakePlannedSource(spec));
  std::string program = Filter();
  const std::string limit = "150";
  program.replace(program.find(limit), limit.size(), "0");
  runner.Startup(program);
  EXPECT_TRUE(runner.ReadAllOf("out").empty());
}

TEST(CreateFilterReaderOp, AnErrorComesBehindWhatIsKeptBeforeIt) {
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers(300, 100));
  runner.Startup(Filter());
  std::vector<LoDTensor> element;
  for (int64_t i = 0; i < 100; ++i) {
    runner.Reader("out").ReadNext(&element);
    EXPECT_EQ(element[0].scalar<int64_t>(), i);
  }
  for (int again = 0; again < 2; ++again) {
    ExpectError(ErrorCode::kDataLoss, "record 100 cannot be loaded",
                [&] { runner.Reader("out").HasNext(); });
  }
}

TEST(CreateFilterReaderOp, RefusesSinksThatAreNotOneBool) {
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers(3));
  runner.ExpectProblem(Filter("strings: \"keep\" strings: \"n\""), "a filter has one sink");
  runner.ExpectProblem(Filter("strings: \"n\""), "it is one bool, not int64");
}

TEST(CreateFilterReaderOp, NamesTheElementThatTheBlockFailsFor) {
  // For an element of two values the block yields two bools, not one.
  SourceSpec spec;
  spec.records = 10;
  spec.ragged = true;
  ProgramRunner runner;
  runner.Reader("source").Reset(MakePlannedSource(spec));
  runner.Startup(Filter("strings: \"keep\"", {-1, 1}));
  std::vector<LoDTensor> element;
  ExpectError(ErrorCode::kInvalidArgument, "while processing element 0 in reader 'out'",
              [&] { runner.Reader("out").ReadNext(&element); });
}

}  // namespace
}  // namespace millhopper
